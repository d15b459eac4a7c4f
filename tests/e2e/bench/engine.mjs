// The engine against onnxruntime-web on the same file and the same tokens, alternately in one
// headless Chromium, one thread each; the way of a whole query against transformers.js; searches,
// memory, load time, and all cores.
import fs from "node:fs/promises";
import path from "node:path";
import zlib from "node:zlib";
import { fileURLToPath } from "node:url";
import { openPage } from "../support/browser.mjs";
import { passagesTogether, queriesBesideWork } from "./cores.mjs";
import { SUM, bandwidth, graph, searches } from "./search.mjs";
import { SHAPED_FILES, shaped } from "./shaped.mjs";
import { RIVAL_FILES, setUpTransformers, wholeQueries } from "./transformers.mjs";

const RIVALS = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../bench/node_modules");
const ORT = path.join(RIVALS, "onnxruntime-web/dist");
const MODEL = "models/all-minilm-l6-v2/";
/** Its reference: texts of many scripts and kinds. */
const REFERENCE = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../data/minilm_reference.json");
/** The engine's programs for browsers without and with relaxed SIMD; pages choose the second here. */
const PROGRAMS = { "ours, plain SIMD": "worker", ours: "relaxed" };
/** Our worker, which also tells the size of its memory. */
const talking = (program) => `import init from "./${program}.js";
const wasm = await init();
self.addEventListener("message", ({ data }) => { if (data.memory) self.postMessage({ memory: wasm.memory.buffer.byteLength }); });`;

/** Serves onnxruntime-web's files and, where one is given, a model it quantises dynamically. */
export function engineOverrides(dynamicModel, shapedFolder) {
  const file = (name) => async (request, response, send) => {
    const body = await fs.readFile(name);
    send(200, body, { "content-type": name.endsWith(".wasm") ? "application/wasm" : "text/javascript", "content-length": body.length });
  };
  const overrides = {};
  for (const program of Object.values(PROGRAMS)) {
    overrides[`bench_${program}.js`] = (request, response, send) => send(200, talking(program), { "content-type": "text/javascript" });
  }
  for (const name of ["ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"]) {
    overrides[`ort/${name}`] = file(path.join(ORT, name));
  }
  for (const [name, from] of Object.entries(RIVAL_FILES)) overrides[name] = file(path.join(RIVALS, from));
  if (shapedFolder) for (const name of SHAPED_FILES) overrides[`shaped/${name}`] = file(path.join(shapedFolder, name));
  if (dynamicModel) overrides["ort/dynamic.onnx"] = file(dynamicModel);
  return overrides;
}

/** Runs in the page: everything that is measured lives at `window.bench`. */
async function setUp({ base, model, dynamic }) {
  const bytes = async (name) => (await fetch(base + name)).arrayBuffer();
  const startWorker = async (program = "relaxed") => {
    const worker = new Worker(`${base}bench_${program}.js`, { type: "module" });
    const waiting = new Map();
    let next = 1, told = null;
    const ready = new Promise((done) => waiting.set(0, done));
    worker.onmessage = ({ data }) => {
      if (data.memory) return told?.(data.memory);
      const { id, event } = JSON.parse(data.json);
      if (event.type !== "progress") { waiting.get(id)?.(event); waiting.delete(id); }
    };
    await ready;
    return {
      async ask(request, buffers = []) {
        const id = next++;
        const answer = new Promise((done) => waiting.set(id, done));
        worker.postMessage({ json: JSON.stringify({ id, request }), buffers }, buffers);
        const event = await answer;
        if (event.type !== "done") throw new Error(JSON.stringify(event));
        return event.answer;
      },
      memory: () => new Promise((done) => { told = done; worker.postMessage({ memory: true }); }),
      end: () => worker.terminate(),
    };
  };
  const load = async (worker) => worker.ask({ type: "load_model", name: "bench", max_tokens: 256 },
    [await bytes(`${model}model_int8.onnx`), await bytes(`${model}tokenizer.json`)]);
  const ort = await import(`${base}ort/ort.wasm.min.mjs`);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = `${base}ort/`;
  const session = async (name, graphOptimizationLevel) => ort.InferenceSession.create(new Uint8Array(await bytes(name)), { graphOptimizationLevel });
  const rivals = {
    "onnxruntime-web, the same file, float32": await session(`${model}model_int8.onnx`, "basic"),
    "onnxruntime-web, the same file, optimised": await session(`${model}model_int8.onnx`, "all"),
  };
  if (dynamic) rivals["onnxruntime-web, dynamic int8"] = await session("ort/dynamic.onnx", "all");
  const vocabulary = JSON.parse(new TextDecoder().decode(await bytes(`${model}tokenizer.json`))).model.vocab;
  const words = Object.entries(vocabulary).filter(([word]) => /^[a-z]{4,}$/.test(word));
  window.bench = { startWorker, load, ort, rivals, words };
}

/** Runs in the page: medians of alternate runs on texts of so many tokens, and the worst cosine. */
async function race({ tokens, rounds, programs }) {
  const { startWorker, load, ort, rivals, words } = window.bench;
  const times = {}, cosines = {}, workers = window.bench.workers ??= {};
  for (const name in programs) {
    if (!workers[name]) await load(workers[name] = await startWorker(programs[name]));
    times[name] = []; cosines[name] = 1;
  }
  window.bench.worker = workers.ours;
  for (const name in rivals) { times[name] = []; cosines[name] = 1; }
  const exact = Object.keys(rivals)[0];
  const cosine = (a, b) => { let [d, x, y] = [0, 0, 0]; a.forEach((v, i) => { d += v * b[i]; x += v * v; y += b[i] * b[i]; }); return d / Math.sqrt(x * y); };
  for (let round = -2; round < rounds; round += 1) {
    const chosen = Array.from({ length: tokens - 2 }, () => words[Math.floor(Math.random() * words.length)]);
    const text = chosen.map(([word]) => word).join(" ");
    const ids = BigInt64Array.from([101, ...chosen.map(([, id]) => id), 102].map(BigInt));
    const found = {};
    let from;
    for (const name in programs) {
      from = performance.now();
      const { vectors } = await workers[name].ask({ type: "embed", texts: [text] });
      if (round >= 0) times[name].push(performance.now() - from);
      found[name] = vectors[0];
    }
    for (const name in rivals) {
      const tensor = (values) => new ort.Tensor("int64", values, [1, tokens]);
      const feeds = { input_ids: tensor(ids), attention_mask: tensor(new BigInt64Array(tokens).fill(1n)) };
      from = performance.now();
      const out = await rivals[name].run(feeds);
      if (round >= 0) times[name].push(performance.now() - from);
      found[name] = [...out.sentence_embedding.data];
    }
    for (const name in found) cosines[name] = Math.min(cosines[name], cosine(found[name], found[exact]));
  }
  return { times, cosines };
}

/** Measures and gives rows for a table. */
export async function benchEngine(browser, site, { rounds = 9, dynamic = false, large = false, root }) {
  const { context, page } = await openPage(browser);
  await page.goto(`${site.url}datasets/FORMAT.md`);
  await page.evaluate(setUp, { base: site.url, model: MODEL, dynamic });
  const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const table = [];
  const row = (what, value) => table.push({ what, value });
  const loads = [];
  for (let n = 0; n < 3; n += 1) {
    loads.push(await page.evaluate(async () => {
      const from = performance.now();
      const worker = await window.bench.startWorker();
      await window.bench.load(worker);
      await worker.ask({ type: "embed", texts: ["a first query"] });
      const took = performance.now() - from;
      worker.end();
      return took;
    }));
  }
  row("engine started, model loaded, first query embedded (ms)", median(loads).toFixed(0));
  for (const tokens of [32, 256]) {
    const { times, cosines } = await page.evaluate(race, { tokens, rounds, programs: PROGRAMS });
    const ours = median(times.ours);
    for (const name in times) {
      row(`${tokens} tokens: ${name} (ms; ours / this; worst cosine to float32)`,
        `${median(times[name]).toFixed(1)}; ${(ours / median(times[name])).toFixed(2)}; ${cosines[name].toFixed(4)}`);
    }
  }
  row("engine memory with the model, after 256 tokens (MB)", ((await page.evaluate(() => window.bench.worker.memory())) / 1e6).toFixed(1));
  const cores = await page.evaluate(() => navigator.hardwareConcurrency);
  const team = await page.evaluate(passagesTogether, { passages: 96, rounds: 5, cores });
  row(`96 passages: one worker, ${cores} workers (ms; ratio; ratio of as many that share no work)`,
    `${median(team.one).toFixed(0)}, ${median(team.all).toFixed(0)}; ${(median(team.one) / median(team.all)).toFixed(2)}; ${median(team.bounds).toFixed(2)}`);
  const waits = await page.evaluate(queriesBesideWork, { queries: 30 });
  row("a query alone, beside a background job, longest wait more (ms)",
    `${median(waits.alone).toFixed(1)}, ${median(waits.beside).toFixed(1)}; ${(Math.max(...waits.beside) - median(waits.alone)).toFixed(1)}`);
  const whole = await page.evaluate(setUpTransformers, { base: site.url })
    .then(() => page.evaluate(wholeQueries, { rounds, count: 2_000, dim: 384 }))
    .catch((error) => { console.error(`transformers.js could not be measured: ${error.message}`); return null; });
  if (whole) {
    const [ours, theirs] = [median(whole.ours), median(whole.theirs)];
    row("a whole query over 2000 (tokens, vector, search): ours, transformers.js (ms; ratio; agree)",
      `${ours.toFixed(1)}, ${theirs.toFixed(1)}; ${(ours / theirs).toFixed(2)}; ${whole.agree} of ${rounds}`);
  }
  for (const count of [2_000, 20_000, 200_000]) {
    const { times, whole } = await page.evaluate(searches, { count, dim: 384, rounds });
    const sum = median(await page.evaluate(bandwidth, { bytes: count * 384, rounds, code: SUM }));
    row(`search of ${count} × 384, exact, a query; a plain sum of the bytes (ms; ratio)`,
      `${median(times).toFixed(2)}, ${sum.toFixed(2)}; ${(median(times) / sum).toFixed(2)}`);
    if (count === 2_000) row("six new queries embedded and searched over 2000 (ms)", median(whole).toFixed(0));
  }
  const linked = Number(process.env.IBA_LAB_BENCH_GRAPH ?? 5_000);
  const { items } = JSON.parse(await fs.readFile(REFERENCE));
  const strangers = items.map((item) => item.text).filter((text) => text.trim());
  const { seconds, found } = await page.evaluate(graph, { count: linked, leftOut: 200, strangers, base: site.url });
  row(`HNSW of ${linked} vectors, built (s)`, seconds.toFixed(1));
  for (const [queries, { exact, graph, recall }] of Object.entries(found)) {
    row(`${queries}: exact, by the graph (ms a query; ratio; recall@10)`, `${exact.toFixed(2)}, ${graph.toFixed(2)}; ${(graph / exact).toFixed(3)}; ${recall.toFixed(3)}`);
  }
  for (const [what, name] of [["engine, plain SIMD", "worker_bg.wasm"], ["engine, relaxed SIMD", "relaxed_bg.wasm"], ["engine with the general ONNX runtime", "exact_bg.wasm"]]) {
    const bytes = await fs.readFile(path.join(root, name)).catch(() => null);
    if (bytes) row(`${what}, compressed (MB)`, (zlib.gzipSync(bytes, { level: 9 }).length / 1e6).toFixed(2));
  }
  if (large) await benchShaped(page, site, row);
  await context.close();
  return table;
}

/** A model of BGE-M3's shape: a query of 32 tokens by each, one after the other, in a page of their own. */
async function benchShaped(page, site, row) {
  for (const who of ["ours", "onnxruntime-web"]) {
    const found = await page.evaluate(shaped, { who, base: site.url, rounds: 5 });
    row(`BGE-M3's shape, 32 tokens: ${who} (load s; query ms; WebAssembly memory MB)`,
      `${(found.load / 1000).toFixed(1)}; ${found.query.toFixed(0)}; ${(found.memory / 1e6).toFixed(0)}`);
  }
}
