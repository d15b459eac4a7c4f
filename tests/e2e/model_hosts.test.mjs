// Hosts of embedding models as they are: they pack JSON on the way, name weights as they like, change files
// between two requests; and two tabs that want the same model.
import test from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { manifestOf, linesOf, readDataset, recordsOf, withFile, withManifest } from "./support/dataset.mjs";
import { serveFiles, serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { lookAtModel, modelOutcome, serveModel, takeModel } from "./support/models.mjs";
import { CALL_INSTANCE, TEXT_INSTANCE, everythingStored, noFaults, openInstance, run } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const MODELS = path.join(path.dirname(fileURLToPath(import.meta.url)), "../data/models");
const TINY = path.join(MODELS, "xlmr-int8");
const PATIENCE = 120_000;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

const look = (page, url) => lookAtModel(page, site, url);

/** Requests that browsers note as refused are what these tests provoke. */
function onlyRefused(faults) {
  noFaults(faults.filter((fault) => !/CORS|Access-Control|net::ERR/.test(fault)));
}

/** The one kept model's record and its files' bytes, put together from the pieces. */
async function keptFiles(page) {
  const found = await page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("iba-lab-models-1");
    const read = async (name) => new Uint8Array(await (await (await folder.getFileHandle(name)).getFile()).arrayBuffer());
    for await (const name of folder.keys()) {
      if (!name.endsWith(".model.json")) continue;
      const record = JSON.parse(new TextDecoder().decode(await read(name)));
      const files = [];
      for (const [at, file] of record.files.entries()) {
        const bytes = [];
        for (const number of file.pieces.keys()) bytes.push(...await read(`${record.id}.${at}.${number}`));
        files.push(bytes);
      }
      return { record, files };
    }
  });
  return { record: found.record, files: found.files.map((bytes) => Buffer.from(bytes)) };
}

test("a host that packs JSON on the way gives the same model, and what its small files say", async () => {
  const host = await serveModel(TINY, { packs: true });
  const { context, page, faults } = await openPage(browser);
  await look(page, host.url);
  assert.equal(await page.locator("#found-pooling").inputValue(), "cls", "a file that packing makes larger is read");
  assert.equal(await takeModel(page), "");
  const packed = host.log.filter((entry) => entry.name === "tokenizer.json" && entry.method === "GET");
  assert.equal(packed.length, 1, "it came at once");
  const plain = fs.readFileSync(path.join(TINY, "tokenizer.json"));
  assert.ok(packed[0].packed < plain.length, "the host told fewer bytes than came out");
  const { files } = await keptFiles(page);
  assert.equal(sha256(files[1]), sha256(plain));
  assert.match(await page.locator(".kept-model").innerText(), /51 kB/);
  // The same folder again is the same model: nothing large comes twice.
  const before = host.log.filter((entry) => entry.method === "GET" && /\.onnx|tokenizer\.json/.test(entry.name)).length;
  await look(page, host.url);
  assert.equal(await takeModel(page), "");
  assert.equal(host.log.filter((entry) => entry.method === "GET" && /\.onnx|tokenizer\.json/.test(entry.name)).length, before);
  noFaults(faults);
  await context.close();
  await host.close();
});

test("weights lie in the file that the graph names, and give onnxruntime's vectors", async () => {
  const renamed = { "model.onnx": { replace: ["model.onnx_data", "weights.000.bin"] } };
  const host = await serveModel(path.join(MODELS, "ext"), { faults: renamed, others: { "weights.000.bin": "model.onnx_data" } });
  const { context, page, faults } = await openPage(browser);
  await look(page, host.url);
  assert.match(await page.locator(".found").innerText(), /Takes/);
  assert.ok(!host.log.some((entry) => entry.method === "GET" && entry.name.endsWith(".onnx")), "nothing is fetched unasked");
  // The host also has a file by the usual name, which the graph does not want.
  assert.equal(await takeModel(page), "");
  assert.ok(!host.log.some((entry) => entry.method === "GET" && entry.name === "model.onnx_data"), "what the graph does not name is not fetched");
  const { record, files } = await keptFiles(page);
  assert.deepEqual(record.files.map((file) => file.name), ["model.onnx", "weights.000.bin", "tokenizer.json"]);
  assert.equal(sha256(files[1]), sha256(fs.readFileSync(path.join(MODELS, "ext/model.onnx_data"))));

  const { rows } = JSON.parse(fs.readFileSync(path.join(MODELS, "ext/reference.json"), "utf8"));
  const vectors = await page.evaluate(async ({ base, record, parts, texts }) => {
    const worker = new Worker(`${base}worker_loader.js`, { type: "module" });
    const waiting = new Map();
    const told = (id) => new Promise((done) => waiting.set(id, done));
    const ready = told(0);
    worker.onmessage = ({ data }) => {
      const { id, event } = JSON.parse(data.json);
      if (event.type !== "progress") waiting.get(id)?.(event);
    };
    const ask = (id, request, buffers = []) => {
      const answer = told(id);
      worker.postMessage({ json: JSON.stringify({ id, request }), buffers }, buffers);
      return answer;
    };
    await ready;
    const [graph, data, tokenizer] = parts.map((bytes) => new Uint8Array(bytes).buffer);
    const of = graph.byteLength + data.byteLength;
    const pieces = [["model.onnx", graph.byteLength], ["weights.000.bin", data.byteLength]].map(([name, bytes]) => ({ name, bytes }));
    await ask(1, { type: "model_piece", first: true, of }, [graph]);
    await ask(2, { type: "model_piece", first: false, of }, [data]);
    const loaded = await ask(3, { type: "load_model", name: record.name, pieces, ...record.spec }, [tokenizer]);
    if (loaded.type !== "done") return loaded;
    const { answer } = await ask(4, { type: "embed", texts });
    worker.terminate();
    return answer.vectors;
  }, { base: site.url, record, parts: files.map((file) => [...file]), texts: rows.map((row) => row.text) });
  assert.equal(vectors.length, rows.length, JSON.stringify(vectors).slice(0, 300));
  const cosines = vectors.map((vector, n) => vector.reduce((sum, value, i) => sum + value * rows[n].vector[i], 0));
  assert.ok(Math.min(...cosines) > 0.999, `cosines ${cosines}`);
  noFaults(faults);
  await context.close();
  await host.close();
});

test("weights that nobody was told of are asked for before they come, and missing ones are named", async () => {
  const rename = { replace: ["model.onnx_data", "weights.000.bin"] };
  const large = await serveModel(path.join(MODELS, "ext"), {
    faults: { "model.onnx": rename, "weights.000.bin": { declared: 60e6 } }, others: { "weights.000.bin": "model.onnx_data" } });
  const { context, page, faults } = await openPage(browser);
  await look(page, large.url);
  assert.match(await takeModel(page), /weights lie in files of their own: weights\.000\.bin \(60\.0 MB\); “Go on” fetches them/);
  assert.ok(!large.log.some((entry) => entry.method === "GET" && entry.name === "weights.000.bin"));
  await page.locator(".kept-model").getByRole("button", { name: "Go on" }).click();
  assert.equal(await modelOutcome(page), "");
  assert.match(await page.locator(".kept-model").innerText(), /fast encoder/);

  const lacking = await serveModel(path.join(MODELS, "ext"), { faults: { "model.onnx": rename } });
  await look(page, lacking.url);
  assert.match(await takeModel(page), /weights\.000\.bin, which is missing at http:\/\/127\.0\.0\.1:\d+\/weights\.000\.bin: it has to lie beside the ONNX file/);
  noFaults(faults);
  await context.close();
  await large.close();
  await lacking.close();
});

/** Waits until something holds that the browser has to be asked for again and again. */
async function eventually(page, holds, what) {
  const until = Date.now() + PATIENCE;
  while (!(await holds())) {
    assert.ok(Date.now() < until, what);
    await page.waitForTimeout(50);
  }
}

/** Cuts the first download of the graph in a page that gives up at once, then closes that page. */
async function cutOnce(context, host) {
  const page = await context.newPage();
  await look(page, host.url);
  await page.locator(".found .primary").click();
  // It waits before it goes on by itself; the tab does not live that long.
  const begun = () => page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("iba-lab-models-1").catch(() => null);
    if (!folder) return false;
    for await (const [name, handle] of folder.entries()) {
      if (!name.endsWith(".model.json")) continue;
      const text = await (await handle.getFile()).text();
      if (text && JSON.parse(text).files[0].pieces.length) return true;
    }
    return false;
  });
  await eventually(page, begun, "a piece is kept");
  await page.close();
}

for (const [what, options, change] of [
  ["a host whose file is another by now", { etag: '"one"', exposed: "ETag, Content-Range" }, (state) => { state.etag = '"two"'; }],
  ["a host that refuses parts", { exposed: "Content-Range" }, (state) => { state.ranges = "refused"; }],
]) {
  test(`${what} gives the whole file anew`, async () => {
    // What the first tab asks for by itself comes too late for it.
    const host = await serveModel(TINY, { ...options, faults: { "model.onnx": { cut: 20_000, times: 1, slow: 60_000 } } });
    const { context, page, faults } = await openPage(browser);
    await cutOnce(context, host);
    change(host.state);
    // Another version of the same size: one name in the graph is written otherwise.
    host.state.faults = { "model.onnx": { replace: ["encoder", "ENCODER"] } };
    const before = host.log.length;
    await page.goto(`${site.url}#/settings`);
    await page.locator(".kept-model").getByRole("button", { name: "Go on" }).click({ timeout: PATIENCE });
    assert.equal(await modelOutcome(page), "");
    const asked = host.log.slice(before).filter((entry) => entry.name === "model.onnx" && entry.method === "GET" && entry.status !== 403);
    assert.equal(asked[0].range, "bytes=15904-", "it tried to go on");
    assert.equal(asked.at(-1).status, 200, "and took the whole");
    const { files } = await keptFiles(page);
    const wanted = fs.readFileSync(path.join(TINY, "model.onnx")).toString("latin1").replaceAll("encoder", "ENCODER");
    assert.equal(sha256(files[0]), sha256(Buffer.from(wanted, "latin1")));
    onlyRefused(faults);
    await context.close();
    await host.close();
  });
}

test("two tabs that fetch one model fetch it once", async () => {
  const host = await serveModel(TINY, { faults: { "model.onnx": { slow: 3000 } } });
  const { context, page, faults } = await openPage(browser);
  const other = await context.newPage();
  await look(page, host.url);
  await look(other, host.url);
  await page.locator(".found .primary").click();
  await page.locator(".model-work progress").waitFor();
  await other.bringToFront();
  await other.locator(".found .primary").click();
  await other.getByText(/Waiting for another tab/).waitFor({ timeout: PATIENCE });
  assert.equal(await modelOutcome(other), "");
  await page.bringToFront();
  assert.equal(await modelOutcome(page), "");
  for (const tab of [page, other]) assert.match(await tab.locator(".kept-model").innerText(), /fast encoder/);
  for (const name of ["model.onnx", "tokenizer.json"]) {
    assert.equal(host.log.filter((entry) => entry.name === name && entry.method === "GET").length, 1, name);
  }
  noFaults(faults);
  await context.close();
  await host.close();
});

test("a choice from the list says how a folder is read that does not say so itself", async () => {
  const bare = fs.mkdtempSync(path.join(os.tmpdir(), "iba-lab-bare-"));
  for (const name of ["model.onnx", "tokenizer.json"]) fs.copyFileSync(path.join(TINY, name), path.join(bare, name));
  const host = await serveModel(bare);
  const { context, page, faults } = await openPage(browser);
  await look(page, host.url);
  assert.equal(await page.locator("#found-pooling").inputValue(), "mean", "assumed");
  await page.locator("#model-wanted").selectOption("multilingual-e5-small");
  await page.waitForFunction(() => document.querySelector("#found-passage")?.value === "passage: ");
  assert.equal(await page.locator("#found-query").inputValue(), "query: ");
  await page.locator("#model-wanted").selectOption("bge-m3");
  await page.waitForFunction(() => document.querySelector("#found-pooling")?.value === "cls");
  assert.equal(await page.locator("#found-passage").inputValue(), "");
  await look(page, host.url);
  assert.equal(await page.locator("#found-pooling").inputValue(), "cls", "chosen before the look");
  assert.equal(await takeModel(page), "");
  assert.match(await page.locator(".kept-model").innerText(), /bge-m3/);
  noFaults(faults);
  await context.close();
  await host.close();
  fs.rmSync(bare, { recursive: true });
});

test("a damaged tokenizer is found out, and “Try again” fetches it anew", async () => {
  const host = await serveModel(TINY);
  const { context, page, faults } = await openPage(browser);
  await look(page, host.url);
  assert.equal(await takeModel(page), "");
  const changed = await page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("iba-lab-models-1");
    for await (const [name, handle] of folder.entries()) {
      if (!/\.1\.0$/.test(name)) continue;
      // Another score of one word: sound JSON, the same length, other tokens.
      const text = await (await handle.getFile()).text();
      const other = text.replace(/-3\.0/, "-9.0");
      const out = await handle.createWritable();
      await out.write(other);
      await out.close();
      return other !== text && other.length === text.length;
    }
  });
  assert.ok(changed, "the kept tokenizer was changed");
  await page.goto("about:blank");
  await openInstance(page, site, TEXT_INSTANCE);
  await run(page, PATIENCE);
  await page.getByText(/tokenizer\.json is not what was fetched/i).first().waitFor({ timeout: PATIENCE });
  assert.match(await everythingStored(page), /all-minilm-l6-v2/);
  await page.goto(`${site.url}#/settings`);
  const before = host.log.length;
  await page.locator(".kept-model").getByRole("button", { name: "Try again" }).click({ timeout: PATIENCE });
  assert.equal(await modelOutcome(page), "");
  const asked = host.log.slice(before).map((entry) => entry.name);
  assert.deepEqual(asked, ["tokenizer.json"], "and nothing else");
  const { files } = await keptFiles(page);
  assert.equal(sha256(files[1]), sha256(fs.readFileSync(path.join(TINY, "tokenizer.json"))));
  noFaults(faults);
  await context.close();
  await host.close();
});

/** IBA-Mini with one persona only, embedded by the native tool with a model's folder. */
async function embedded(instance, model) {
  const lab = process.env.IBA_LAB_LAB;
  let files = await readDataset(path.join(root, "datasets/iba-mini"));
  const { shard } = recordsOf(files, manifestOf(files).index.path).find((record) => record.id === instance);
  files = withFile(files, "index", (text) => linesOf(text.trim().split("\n").map((line) => JSON.parse(line)).filter((record) => record.shard === shard)));
  files = withManifest(files, (manifest) => { manifest.shards = manifest.shards.filter(({ id }) => id === shard); manifest.embeddings = []; });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "iba-lab-embedded-"));
  const wanted = ["manifest.json", ...[manifestOf(files)].flatMap(({ index, dimensions, shards }) => [index.path, dimensions.path, shards[0].file.path])];
  for (const name of wanted) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), files[name]);
  }
  execFileSync(lab, ["dataset", "embed", folder, "--model", model], { stdio: ["ignore", "ignore", "inherit"] });
  const made = await readDataset(folder);
  fs.rmSync(folder, { recursive: true });
  return made;
}

test("vectors that a dataset ships are used by a model that is read as they were made, and by no other", async () => {
  const files = await embedded("food_ordering-a", TINY);
  const [set] = manifestOf(files).embeddings;
  assert.equal(set.reading.pooling, "cls");
  const data = await serveFiles(files), host = await serveModel(TINY);
  const { context, page, faults } = await openPage(browser);
  await look(page, host.url);
  assert.equal(await takeModel(page), "");
  const instance = `${CALL_INSTANCE}?data=${encodeURIComponent(`${data.url}manifest.json`)}`;
  await openInstance(page, site, instance);
  await run(page, PATIENCE);
  const fetched = () => data.log.filter((name) => name.startsWith("vectors/xlmr-int8/")).length;
  assert.equal(fetched(), 1, data.log.join(" "));
  const stored = async () => (await everythingStored(page)).replaceAll('\\"', '"');
  assert.match(await stored(), /"pooling":"cls"/);
  assert.doesNotMatch(await stored(), /"cut_passages":/, "nothing was embedded here");

  const { record } = await keptFiles(page);
  await page.goto(`${site.url}#/settings`);
  await page.getByText("How it is read", { exact: true }).click({ timeout: PATIENCE });
  await page.locator(`[id="${record.id}-pooling"]`).selectOption("mean");
  await page.getByRole("button", { name: "Read it so" }).click();
  assert.equal(await modelOutcome(page), "");
  await page.goto("about:blank");
  await page.goto(site.url + instance);
  await page.getByRole("button", { name: "Run again", exact: true }).click({ timeout: PATIENCE });
  await eventually(page, async () => /"pooling":"mean"/.test(await stored()), "the second run is kept");
  assert.match(await stored(), /"cut_passages":\d+/, "the history was embedded here");
  assert.equal(fetched(), 1, data.log.join(" "));
  noFaults(faults);
  await context.close();
  await data.close();
  await host.close();
});
