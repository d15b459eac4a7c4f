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

/** Least of what some rounds give: what the machine does beside them is nobody's wait. */
const quietest = (rounds) => Math.min(...rounds);

test("a query never waits 50 ms for passages that are embedded", async () => {
  await withEngine(async (page) => {
    const rounds = await page.evaluate(async () => {
      const passage = "a few words about the weather and the garden ".repeat(30);
      const texts = Array.from({ length: 60 }, (_, n) => `Turn ${n}: ${passage}`);
      let number = 0;
      const timed = async () => {
        const started = performance.now();
        await window.engine.send({ type: "embed", texts: [`query number ${number += 1} about noodles`] }).answer;
        return performance.now() - started;
      };
      const rounds = [];
      for (let round = 0; round < 4; round += 1) {
        const alone = [], during = [];
        for (let n = 0; n < 9; n += 1) alone.push(await timed());
        const work = window.engine.send({ type: "embed_passages", texts: texts.map((text) => `${round} ${text}`) });
        for (let n = 0; n < 15; n += 1) {
          await new Promise((done) => setTimeout(done, 37));
          during.push(await timed());
        }
        window.engine.send({ type: "cancel", target: work.id });
        rounds.push({ alone, during, ended: await work.answer });
      }
      return rounds;
    });
    const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
    const extra = rounds.map(({ alone, during }) => Math.max(...during) - median(alone));
    console.log(`a query waits at most ${extra.map((ms) => ms.toFixed(0)).join(", ")} ms longer beside passages; alone it takes ${median(rounds[0].alone).toFixed(1)} ms`);
    for (const { ended } of rounds) assert.match(JSON.stringify(ended), /cancelled/, "the passages were still being embedded");
    assert.ok(quietest(extra) < 50, `the longest wait of each round: ${extra}`);
  });
});

test("a history that is cut lets queries and its cancel in at once", async () => {
  await withEngine(async (page) => {
    const rounds = await page.evaluate(async () => {
      const turns = Array.from({ length: 20 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", text: `Turn ${n}: ${"a few words about the weather and the garden ".repeat(12)}` }));
      const sessions = Array.from({ length: 150 }, (_, n) => ({ id: `s${n}`, date: "2025-01-01T10:00:00", turns }));
      const request = { type: "cut_history", sessions, chunking: { tokens: 256, overlap: 50 } };
      const now = () => performance.now();
      let number = 0;
      const query = async () => {
        const started = now();
        await window.engine.send({ type: "embed", texts: [`query ${number += 1} about noodles`] }).answer;
        return now() - started;
      };
      const whole = now();
      await window.engine.send(request).answer;
      const takes = now() - whole;
      const rounds = [];
      for (let round = 0; round < 4; round += 1) {
        const alone = await query();
        let ended = false;
        const work = window.engine.send(request);
        work.answer.then(() => { ended = true; });
        const during = [];
        while (!ended) during.push(await query());
        const again = window.engine.send(request);
        // Most of it are the tokens of the passages, after all sessions are cut.
        await new Promise((done) => setTimeout(done, takes * 0.7));
        const started = now();
        window.engine.send({ type: "cancel", target: again.id });
        const answer = await again.answer;
        rounds.push({ extra: Math.max(...during) - alone, cancel: now() - started, answer: JSON.stringify(answer).slice(0, 200) });
      }
      return { takes, rounds };
    });
    const extra = rounds.rounds.map((round) => round.extra), cancel = rounds.rounds.map((round) => round.cancel);
    console.log(`a history is cut in ${rounds.takes.toFixed(0)} ms; a query waits at most ${extra.map((ms) => ms.toFixed(0)).join(", ")} ms longer, a cancel ${cancel.map((ms) => ms.toFixed(0)).join(", ")} ms`);
    for (const { answer } of rounds.rounds) assert.match(answer, /cancelled/);
    assert.ok(quietest(extra) < 50, `the longest wait of each round: ${extra}`);
    assert.ok(quietest(cancel) < 50, `each cancel: ${cancel}`);
  });
});

test("embedding a history can be cancelled between two passages", async () => {
  await withEngine(async (page) => {
    const outcomes = await page.evaluate(async () => {
      const turns = Array.from({ length: 40 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", text: `Turn ${n}: ${"a few words about the weather and the garden ".repeat(20)}` }));
      const sessions = Array.from({ length: 30 }, (_, n) => ({ id: `s${n}`, date: "2025-01-01T10:00:00", turns }));
      const outcomes = [];
      for (const after of [400, 900, 1400]) {
        const work = window.engine.send({ type: "open_history", key: "k", sessions, chunking: { tokens: 256, overlap: 50 }, shipped_vectors: false });
        await new Promise((done) => setTimeout(done, after));
        const started = performance.now();
        window.engine.send({ type: "cancel", target: work.id });
        outcomes.push({ answer: await work.answer, waited: performance.now() - started });
      }
      return outcomes;
    });
    for (const { answer } of outcomes) {
      assert.equal(answer.type, "failed", JSON.stringify(answer).slice(0, 300));
      assert.match(JSON.stringify(answer), /cancelled/);
    }
    const waits = outcomes.map(({ waited }) => waited);
    console.log(`a cancel is answered after ${waits.map((ms) => ms.toFixed(1)).join(", ")} ms`);
    assert.ok(quietest(waits) < 50, `each cancel: ${waits}`);
  });
});
