// Who waits for whom in the engine, and what becomes of work that is interrupted: queries beside an
// embedding, reloads, spoilt vectors, words in the place of a model.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { drop } from "./support/drop.mjs";
import { CALL_INSTANCE, TEXT_INSTANCE, everythingStored, noFaults, openInstance, run, verdicts } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const MODEL = "models/all-minilm-l6-v2/model_int8.onnx";
const TINY = path.join(path.dirname(fileURLToPath(import.meta.url)), "../data/models/xlmr-int8");
const PATIENCE = 240_000;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

/**
 * Cuts histories in another way than the dataset does, so that they have to be embedded here, and into so
 * many passages that it takes some fifteen seconds of two idle cores.
 */
async function cutOtherwise(page) {
  await page.goto(`${site.url}#/settings`);
  for (const [name, tokens] of [["chunk_tokens", "120"], ["chunk_overlap", "100"]]) {
    await page.locator(`#param-${name}`).fill(tokens);
    await page.locator(`#param-${name}`).blur();
  }
}

/** The bar of passages that are being embedded: done, and of how many. */
async function embedding(page, timeout = PATIENCE) {
  const bar = page.locator('progress[aria-label="passages embedded"]');
  await bar.waitFor({ timeout });
  return bar.evaluate((bar) => ({ done: bar.value, total: bar.max }));
}

/** Keeps a tiny model and chooses it. */
async function keepTiny(page) {
  await page.goto(`${site.url}#/instances`);
  await page.getByRole("link", { name: "Search all histories" }).waitFor({ timeout: PATIENCE });
  await drop(page, TINY);
  await page.locator(".found .primary").click({ timeout: PATIENCE });
  await page.locator(".kept-model").waitFor({ timeout: PATIENCE });
}

const chosenModel = (page) => page.evaluate(() => JSON.parse(localStorage.getItem("iba-lab.settings")).retriever.model.kind);

/** The record of the latest run, as it is kept. */
const stored = async (page) => (await everythingStored(page)).replaceAll('\\"', '"');

test("a question to all histories is answered while a run embeds a history", { timeout: 500_000 }, async () => {
  const { context, page, faults } = await openPage(browser);
  // Until new hits stand there, those of the question before do.
  let known = "";
  const ask = async (words) => {
    const started = Date.now();
    await page.goto(`${site.url}#/search?q=${encodeURIComponent(words)}`);
    await page.waitForFunction((known) => {
      const first = document.querySelector("li.all-hit .all-text")?.textContent;
      return first && first !== known && /every passage compared/.test(document.querySelector(".all-said").textContent);
    }, known, { timeout: PATIENCE });
    const took = Date.now() - started;
    known = await page.locator("li.all-hit .all-text").first().evaluate((text) => text.textContent);
    return took;
  };
  await cutOtherwise(page);
  await ask("window seat");
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const before = await embedding(page);
  // New words, so that no vector of theirs is known.
  const took = await ask("no spicy food, mild please");
  await page.goto(site.url + CALL_INSTANCE);
  const after = await embedding(page, 5000);
  console.log(`answered in ${took} ms beside an embedding: ${before.done} to ${after.done} of ${after.total} passages`);
  assert.ok(after.done < after.total, "the history is still being embedded");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByText("Cancelled; finished stages are kept").waitFor({ timeout: 10_000 });
  noFaults(faults);
  await context.close();
});

test("what was embedded before a reload is not embedded again", { timeout: 600_000 }, async () => {
  const { context, page, faults } = await openPage(browser);
  await cutOtherwise(page);
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await embedding(page);
  await page.waitForTimeout(1500);
  const before = await embedding(page);
  await page.waitForTimeout(2500); // something is kept every two seconds
  const reloaded = await embedding(page);
  assert.ok(reloaded.done < reloaded.total, "it was still embedding");
  await page.reload();
  await page.getByRole("button", { name: /^Run( again)?$/ }).click({ timeout: PATIENCE });
  const after = await embedding(page);
  console.log(`${before.total} passages; ${reloaded.done} done at the reload, ${after.total} left after it`);
  assert.ok(before.done > 0 && after.total <= before.total - before.done, `${after.total} of ${before.total} are embedded, though ${before.done} were`);
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: PATIENCE });
  noFaults(faults);
  await context.close();
});

test("spoilt vectors of a dataset are said, and the history is embedded here by helpers that are let go", { timeout: 500_000 }, async () => {
  const folder = "datasets/iba-mini/";
  const manifest = JSON.parse(await fs.readFile(path.join(root, folder, "manifest.json"), "utf8"));
  const names = manifest.embeddings.flatMap((set) => Object.values(set.files).map((file) => file.path));
  for (const name of names) {
    site.overrides[folder + name] = async (request, response, send) => {
      const body = await fs.readFile(path.join(root, folder, name));
      body[body.length >> 1] ^= 0xff;
      send(200, body, { "content-type": "application/octet-stream" });
    };
  }
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  await run(page, PATIENCE);
  await page.locator(".toast").getByText(/ships vectors that cannot be used/).waitFor({ timeout: 5000 });
  assert.ok((await verdicts(page)).length > 0);
  const record = await stored(page);
  assert.match(record, /"model":"all-minilm-l6-v2"/);
  assert.match(record, /"method":"exact"/);
  assert.match(record, /"cut_passages":\d+/, "it was embedded here, so that is known");
  if (os.cpus().length > 1) assert.ok(page.workers().length >= 2, "helpers wait for the next history");
  const end = Date.now() + 60_000;
  while (page.workers().length > 1 && Date.now() < end) await page.waitForTimeout(500);
  assert.equal(page.workers().length, 1, "helpers without work are let go");
  for (const name of names) delete site.overrides[folder + name];
  noFaults(faults);
  await context.close();
});

test("words chosen in Settings embed nothing, whichever model is chosen", async () => {
  const { context, page, faults } = await openPage(browser);
  await keepTiny(page);
  await page.goto(`${site.url}#/settings`);
  await page.getByText("By words", { exact: true }).click({ timeout: PATIENCE });
  assert.equal(await chosenModel(page), "kept");
  await page.goto("about:blank");
  await page.addInitScript(() => {
    globalThis.shown = new Set();
    new MutationObserver(() => {
      for (const bar of document.querySelectorAll("progress")) globalThis.shown.add(bar.getAttribute("aria-label"));
    }).observe(document, { subtree: true, childList: true, attributes: true });
  });
  await openInstance(page, site, CALL_INSTANCE);
  await run(page, PATIENCE);
  const shown = await page.evaluate(() => [...globalThis.shown].join("; "));
  assert.doesNotMatch(shown, /embedded|measured|sessions cut|xlmr/, shown);
  const record = await stored(page);
  assert.match(record, /"retriever":\{"model":"all-minilm-l6-v2"[^}]*"method":"bm25"/);
  assert.ok((await verdicts(page)).length > 0);
  // What was done is not offered again.
  await run(page, PATIENCE);
  noFaults(faults);
  await context.close();
});

test("a second question does not begin the model's download anew", async () => {
  let release;
  const released = new Promise((done) => { release = done; });
  site.overrides[MODEL] = async (request, response, send) => {
    await released;
    send(200, await fs.readFile(path.join(root, MODEL)), { "content-type": "application/octet-stream" });
  };
  const asked = () => site.log.filter((entry) => entry.path === MODEL).length;
  const before = asked();
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/search?q=window%20seat`);
  await page.getByText("by words while the model loads").waitFor({ timeout: PATIENCE });
  const field = page.getByLabel("Search all histories");
  for (const words of ["no spicy food", "a quiet room"]) {
    await field.fill(words);
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.waitForURL(new RegExp(encodeURIComponent(words)));
    await page.getByText("by words while the model loads").waitFor({ timeout: PATIENCE });
    await page.waitForTimeout(500);
  }
  delete site.overrides[MODEL];
  release();
  await page.getByText("every passage compared").waitFor({ timeout: PATIENCE });
  assert.equal(asked() - before, 1, "it was fetched once");
  noFaults(faults);
  await context.close();
});

test("a run that embeds with a model of the visitor's can go on by words", async () => {
  const { context, page, faults } = await openPage(browser);
  await keepTiny(page);
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("button", { name: "Go on by words" }).click({ timeout: 60_000 });
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
  assert.match(await stored(page), /none, by words/);
  assert.equal(await chosenModel(page), "kept", "the choice stays");
  noFaults(faults);
  await context.close();
});

test("an engine that dies is no fault of the model it held; a cut query is said", { timeout: 400_000 }, async () => {
  const { context, page } = await openPage(browser);
  await keepTiny(page);
  await openInstance(page, site, TEXT_INSTANCE);
  const before = new Set(page.workers());
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await embedding(page);
  for (const worker of page.workers().filter((worker) => !before.has(worker))) {
    await worker.evaluate(() => { setTimeout(() => { throw new Error("struck down"); }); }).catch(() => {});
  }
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: PATIENCE });
  assert.ok((await verdicts(page)).length > 0);
  assert.equal(await chosenModel(page), "kept");
  const record = await stored(page);
  assert.ok(record.includes('"retriever":{"model":"xlmr-int8"'), "the run kept to its model");
  assert.ok(/queries (is|are) longer than the embedding model reads/.test(record), "the task has more than 128 tokens");
  await page.goto(`${site.url}#/settings`);
  assert.match(await page.locator(".kept-model").innerText(), /fast encoder/);
  assert.ok(await page.locator(".kept-model input[type=radio]").first().isChecked());
  await context.close();
});
