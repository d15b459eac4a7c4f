// All histories searched by words: without vectors, with a large dataset, and what scores are called.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { serveEmbeddings } from "./support/models.mjs";
import { CALL_INSTANCE, noFaults, openInstance, run } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const MANIFEST = "datasets/iba-mini/manifest.json";
const PATIENCE = 120_000;
let browser, site;
test.before(async () => { browser = await launch(); });
test.after(async () => { await browser.close(); });
test.beforeEach(async () => { site = await serveSite({ root }); });
test.afterEach(async () => { await site.close(); });

/** The bundled dataset with another manifest. */
async function withManifest(change) {
  const manifest = JSON.parse(await fs.readFile(path.join(root, MANIFEST), "utf8"));
  change(manifest);
  site.overrides[MANIFEST] = (request, response, send) => send(200, JSON.stringify(manifest), { "content-type": "application/json" });
}

const byWords = (page) => page.getByText(/The 10 nearest of [\d\s,]+ passages, by words;/);

test("a dataset without vectors is searched by words, and the way to meaning is offered", async () => {
  await withManifest((manifest) => { manifest.embeddings = []; });
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/search?q=window%20seat&by=words`);
  await byWords(page).waitFor({ timeout: PATIENCE });
  assert.match((await page.locator(".all-text").first().innerText()).toLowerCase(), /window|seat/);
  assert.equal(await page.locator("li.all-hit mark").count() > 0, true);
  assert.equal(await page.getByRole("region", { name: "Vectors of the chosen model" }).count(), 0, "words need no vectors");
  assert.match(await page.locator(".all-score").first().getAttribute("title"), /BM25/);

  await page.getByLabel("How to search").selectOption("exact");
  await page.getByText("This dataset ships no vectors").waitFor({ timeout: PATIENCE });
  await page.getByText("by words, since there are no vectors of the chosen model").waitFor({ timeout: PATIENCE });
  assert.equal(await page.getByText("Ask all users' histories at once").count(), 0, "there is something to show");
  await page.getByRole("button", { name: "Build the graph" }).click();
  await page.getByText(/nothing to build a graph over/).waitFor({ timeout: PATIENCE });
  noFaults(faults);
  await context.close();
});

test("a large dataset is searched by words when that is asked for, and keeps its graph", async () => {
  // Sizes as a manifest of a large dataset has them: more than the texts that are loaded in any case.
  await withManifest((manifest) => { for (const shard of manifest.shards) shard.file.bytes = 2_000_000; });
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/search?q=window%20seat`);
  await page.getByText("every passage compared").waitFor({ timeout: PATIENCE });
  assert.match(await page.locator(".all-score").first().getAttribute("title"), /Cosine/);
  await page.getByRole("button", { name: "Build the graph" }).click();
  await page.getByText("Recall@10").waitFor({ timeout: PATIENCE });
  await page.getByLabel("How to search").selectOption("words");
  await byWords(page).waitFor({ timeout: PATIENCE });
  await page.locator(".all-text").filter({ hasText: /window|seat/i }).first().waitFor({ timeout: PATIENCE });
  await page.getByLabel("How to search").selectOption("both");
  await page.getByText("by meaning and words").waitFor({ timeout: PATIENCE });
  assert.match(await page.locator(".all-score").first().getAttribute("title"), /1 \/ \(60 \+ rank\)/);
  assert.ok(Number(await page.locator(".all-score").first().innerText()) <= 0.034);
  await page.getByLabel("How to search").selectOption("graph");
  await page.getByText("through the HNSW graph").waitFor({ timeout: PATIENCE });
  noFaults(faults);
  await context.close();
});

test("the shipped model taken on the search page gives way to the next choice in Settings", async () => {
  const endpoint = await serveEmbeddings();
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/settings`);
  await page.getByText("An embedding endpoint", { exact: true }).click({ timeout: PATIENCE });
  await page.locator("#embedding-provider").selectOption("");
  const enter = async (field, text) => {
    await page.locator(`#embedding-${field}`).fill(text);
    await page.locator(`#embedding-${field}`).blur();
  };
  await enter("url", endpoint.url);
  await enter("model", "first-model");
  await page.goto(`${site.url}#/search?q=window%20seat`);
  await page.getByRole("button", { name: "Search by the shipped model" }).click({ timeout: PATIENCE });
  await page.getByText(/every passage compared \(vectors of all-minilm-l6-v2\)/).waitFor({ timeout: PATIENCE });
  await page.goto(`${site.url}#/settings`);
  await enter("model", "second-model");
  await page.goto(`${site.url}#/search?q=window%20seat`);
  await page.getByRole("button", { name: "Embed all passages with second-model" }).waitFor({ timeout: PATIENCE });
  assert.equal(endpoint.log.length, 0, "nothing is sent unasked");
  noFaults(faults);
  await context.close();
  await endpoint.close();
});

test("a run's hits have a bar only where scores are cosines", async () => {
  const { context, page, faults } = await openPage(browser);
  for (const [method, bars, title] of [["Both", false, /1 \/ \(60 \+ rank\)/], ["By meaning", true, /Cosine/]]) {
    await page.goto(`${site.url}#/settings`);
    await page.getByText(method, { exact: true }).first().click({ timeout: PATIENCE });
    await openInstance(page, site, CALL_INSTANCE).catch(() => {});
    await run(page, PATIENCE);
    await page.locator("li.stage").filter({ hasText: /retriev/i }).first().getByRole("button").first().click();
    const hit = page.locator("ol.hits:not(.ranked) > li").first();
    await hit.waitFor({ timeout: PATIENCE });
    assert.equal(await hit.locator(".meter").count() > 0, bars, method);
    assert.match(await hit.locator(".score").getAttribute("title"), title);
  }
  noFaults(faults);
  await context.close();
});
