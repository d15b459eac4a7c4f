// The engine worker as shipped, spoken to by a plain page: the vectors and token counts of the
// reference in this very browser, and a cancelled request.
import test from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";

const root = process.env.IBA_LAB_DIST;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

/** Opens a page of the site's origin with a worker of its own at `window.engine`. */
async function withEngine(body, program = "worker") {
  const { context, page } = await openPage(browser);
  await page.goto(`${site.url}datasets/FORMAT.md`);
  await page.evaluate(async ({ base, program }) => {
    const bytes = async (name) => (await fetch(base + name)).arrayBuffer();
    const worker = new Worker(`${base}${program}_loader.js`, { type: "module" });
    const waiting = new Map();
    let next = 1;
    const ready = new Promise((done) => waiting.set(0, done));
    worker.onmessage = ({ data }) => {
      const { id, event } = JSON.parse(data.json);
      if (event.type === "progress") return;
      waiting.get(id)?.(event);
    };
    window.engine = {
      send(request, buffers = []) {
        const id = next++;
        const answer = new Promise((done) => waiting.set(id, done));
        worker.postMessage({ json: JSON.stringify({ id, request }), buffers }, buffers);
        return { id, answer };
      },
    };
    await ready;
    const model = `models/all-minilm-l6-v2/`;
    window.loaded = await window.engine.send({ type: "load_model", name: "all-minilm-l6-v2", max_tokens: 256 },
      [await bytes(`${model}model_int8.onnx`), await bytes(`${model}tokenizer.json`)]).answer;
  }, { base: site.url, program });
  try { await body(page); } finally { await context.close(); }
}

test("vectors in the browser agree with onnxruntime's", async () => {
  const reference = JSON.parse(await fs.readFile(new URL("../data/minilm_reference.json", import.meta.url), "utf8"));
  const cases = reference.items;
  assert.ok(cases.length >= 40, "the reference has enough texts");
  await withEngine(async (page) => {
    const answer = await page.evaluate((texts) => window.engine.send({ type: "embed", texts }).answer, cases.map((item) => item.text));
    assert.equal(answer.type, "done", JSON.stringify(answer).slice(0, 300));
    const cosines = answer.answer.vectors.map((vector, n) => {
      const wanted = cases[n].plain;
      const dot = vector.reduce((sum, value, i) => sum + value * wanted[i], 0);
      return dot / Math.hypot(...vector) / Math.hypot(...wanted);
    });
    console.log(`cosine to onnxruntime: worst ${Math.min(...cosines).toFixed(5)} of ${cosines.length}`);
    assert.ok(Math.min(...cosines) >= 0.995, `worst cosine ${Math.min(...cosines)}`);
  });
});

test("relaxed SIMD gives the same vectors, to the last bit", async () => {
  const { items } = JSON.parse(await fs.readFile(new URL("../data/minilm_reference.json", import.meta.url), "utf8"));
  const texts = items.map((item) => item.text);
  const embed = (page) => page.evaluate((texts) => window.engine.send({ type: "embed", texts }).answer, texts);
  const found = {};
  for (const program of ["worker", "relaxed"]) await withEngine(async (page) => { found[program] = (await embed(page)).answer.vectors; }, program);
  assert.equal(found.relaxed.length, texts.length);
  assert.deepEqual(found.relaxed, found.worker);
});

test("vectors in the browser are those of the native tool", async () => {
  const reference = JSON.parse(await fs.readFile(new URL("../data/minilm_reference.json", import.meta.url), "utf8"));
  const texts = reference.items.map((item) => item.text).slice(3, 15);
  const native = execFileSync(process.env.IBA_LAB_LAB, ["embed", "--model", path.join(root, "models/all-minilm-l6-v2")],
    { input: texts.map((text) => JSON.stringify(text)).join("\n"), encoding: "utf8", stdio: ["pipe", "pipe", "inherit"] });
  const expected = native.trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(expected.length, texts.length);
  await withEngine(async (page) => {
    const { answer } = await page.evaluate((texts) => window.engine.send({ type: "embed", texts }).answer, texts);
    const off = answer.vectors.flatMap((vector, n) => vector.map((value, i) => Math.abs(value - expected[n][i])));
    console.log(`components differ from the native tool's by ${Math.max(...off).toExponential(1)} at most`);
    assert.ok(Math.max(...off) < 1e-3);
  });
});

test("a query is answered while passages are embedded", async () => {
  await withEngine(async (page) => {
    const waits = await page.evaluate(async () => {
      const passage = "a few words about the weather and the garden ".repeat(30);
      const texts = Array.from({ length: 60 }, (_, n) => `Turn ${n}: ${passage}`);
      const alone = [];
      const timed = async (n) => {
        const started = performance.now();
        await window.engine.send({ type: "embed", texts: [`query number ${n} about noodles`] }).answer;
        return performance.now() - started;
      };
      for (let n = 0; n < 9; n += 1) alone.push(await timed(n));
      const work = window.engine.send({ type: "embed_passages", texts });
      const during = [];
      for (let n = 10; n < 25; n += 1) {
        await new Promise((done) => setTimeout(done, 37));
        during.push(await timed(n));
      }
      window.engine.send({ type: "cancel", target: work.id });
      const ended = await work.answer;
      return { alone, during, ended };
    });
    const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
    const extra = median(waits.during) - median(waits.alone);
    console.log(`a query: ${median(waits.alone).toFixed(1)} ms alone, ${median(waits.during).toFixed(1)} ms beside passages, worst ${Math.max(...waits.during).toFixed(1)} ms`);
    assert.match(JSON.stringify(waits.ended), /cancelled/, "the passages were still being embedded");
    assert.ok(extra < 50, `a query waits ${extra} ms longer beside passages`);
  });
});

test("embedding a history can be cancelled between two passages", async () => {
  await withEngine(async (page) => {
    const outcome = await page.evaluate(async () => {
      const turns = Array.from({ length: 40 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", text: `Turn ${n}: ${"a few words about the weather and the garden ".repeat(20)}` }));
      const sessions = Array.from({ length: 30 }, (_, n) => ({ id: `s${n}`, date: "2025-01-01T10:00:00", turns }));
      const work = window.engine.send({ type: "open_history", key: "k", sessions, chunking: { tokens: 256, overlap: 50 }, shipped_vectors: false });
      await new Promise((done) => setTimeout(done, 400));
      const started = performance.now();
      window.engine.send({ type: "cancel", target: work.id });
      const answer = await work.answer;
      return { answer, waited: performance.now() - started };
    });
    assert.equal(outcome.answer.type, "failed", JSON.stringify(outcome).slice(0, 300));
    assert.match(JSON.stringify(outcome.answer), /cancelled/);
  });
});
