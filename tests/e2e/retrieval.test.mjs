// Retrieval as the visitor chooses it: a history that no vectors were shipped for is embedded on all
// cores and never again; words and vectors together.
import test from "node:test";
import assert from "node:assert/strict";
import os from "node:os";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { CALL_INSTANCE, download, everythingStored, noFaults, openInstance, run, verdicts } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

test("another chunking is embedded on all cores, once, and searched by words and vectors", async () => {
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/settings`);
  await page.getByText("Both", { exact: true }).click();
  await page.locator("#param-chunk_tokens").fill("200");
  await page.locator("#param-chunk_tokens").blur();
  await openInstance(page, site, CALL_INSTANCE);
  let most = 0;
  const watch = setInterval(() => { most = Math.max(most, page.workers().length); }, 20);
  const first = Date.now();
  await run(page, 300_000);
  const embedding = Date.now() - first;
  clearInterval(watch);
  if (os.cpus().length > 1) assert.ok(most >= 2, `only ${most} worker embedded`);
  const models = site.log.filter((entry) => entry.path.endsWith("model_int8.onnx"));
  assert.equal(models.length, 1, "the model is fetched once for all workers");
  assert.match(await everythingStored(page), /exact\+bm25/, "the record names the retriever");

  // The next visit: what was embedded is kept.
  await page.reload();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
  let later = 0;
  const again = setInterval(() => { later = Math.max(later, page.workers().length); }, 20);
  const second = Date.now();
  await run(page, 300_000);
  clearInterval(again);
  console.log(`first visit ${embedding} ms with ${most} workers, second ${Date.now() - second} ms with ${later}`);
  assert.equal(later, 1, "nothing is left to embed, so no helper starts");
  noFaults(faults);
  await context.close();
});

test("a history is cut into sentences where that is chosen, and the result says so", { timeout: 400_000 }, async () => {
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/settings`);
  await page.getByText("One sentence", { exact: true }).click();
  await openInstance(page, site, CALL_INSTANCE);
  const started = Date.now();
  await run(page, 300_000);
  console.log(`a history embedded sentence by sentence, and the run: ${Date.now() - started} ms`);
  const saved = await download(page, () => page.getByRole("button", { name: "JSON", exact: true }).click());
  const record = JSON.parse(saved.bytes.toString().replace(/\bNaN\b/g, "null")).samples[0].metadata.iba.record;
  assert.equal(record.params.chunk_unit, "sentences");
  assert.equal(record.retriever.cut_passages, 0);
  // The first text of the stage's record is the task itself, which is searched for, too.
  const texts = JSON.stringify(record.stages.find((one) => /retriev/.test(one.stage))).match(/"passage":\{[^}]*?"text":"(?:[^"\\]|\\.)*"/g);
  assert.ok(texts.length >= 6, `${texts.length} passages`);
  for (const text of texts) assert.ok(!/\\n(User|Assistant):/.test(text) && text.length < 600, text);
  assert.equal((await verdicts(page)).length, 3);
  noFaults(faults);
  await context.close();
});
