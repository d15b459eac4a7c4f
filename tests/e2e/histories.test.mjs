// All histories of a dataset searched as one: by words while the model is held back, by meaning once
// it comes, through a graph; and a run that waits for the model or goes on by words.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { drop } from "./support/drop.mjs";
import { CALL_INSTANCE, everythingStored, noFaults, openInstance, steps, verdicts } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const MODEL = "models/all-minilm-l6-v2/model_int8.onnx";
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

/** Keeps the model's file back until it is let go. */
function holdModel() {
  let release;
  const released = new Promise((done) => { release = done; });
  site.overrides[MODEL] = async (request, response, send) => {
    await released;
    send(200, await fs.readFile(path.join(root, MODEL)), { "content-type": "application/octet-stream" });
  };
  return () => { delete site.overrides[MODEL]; release(); };
}

test("words answer at once while the model is held back, meaning as soon as it comes", async () => {
  const release = holdModel();
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/instances`);
  await page.getByRole("link", { name: "Search all histories" }).click();
  await page.getByRole("heading", { name: "Search all histories" }).waitFor();
  await page.getByLabel("Search all histories").fill("no spicy food, mild please");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.getByText("by words while the model loads").waitFor({ timeout: 60_000 });
  assert.equal(await page.locator("li.all-hit").count(), 10);
  assert.ok(await page.locator("li.all-hit mark").count() > 0, "the words are marked");
  assert.match(page.url(), /#\/search\?q=no%20spicy%20food/);
  release();
  await page.getByText("every passage compared").waitFor({ timeout: 60_000 });
  const scores = await page.locator(".all-score").allInnerTexts();
  assert.deepEqual([...scores].sort((a, b) => b - a), scores, "best first");
  assert.ok(Number(scores[0]) > 0.3 && Number(scores[0]) <= 1, `a cosine: ${scores[0]}`);

  // A hit leads to its session.
  const session = page.locator("li.all-hit").first().locator("a").nth(1);
  const id = (await session.innerText()).split("#")[0];
  await session.click();
  await page.waitForURL(new RegExp(`session=${id}`));
  await page.getByRole("button", { name: "Run", exact: true }).waitFor({ timeout: 60_000 });
  await page.goBack();
  await page.getByText("every passage compared").waitFor({ timeout: 5000 });
  noFaults(faults);
  await context.close();
});

test("a graph is built beside exact searches, can be stopped, and shows its recall", async () => {
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/search?q=window%20seat`);
  await page.getByText("every passage compared").waitFor({ timeout: 60_000 });
  const exact = await page.locator(".all-text").allInnerTexts();
  await page.getByRole("button", { name: "Build the graph" }).click();
  await page.getByText(/passages linked/).waitFor({ timeout: 60_000 });
  await page.locator(".all-graph").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Build the graph" }).waitFor({ timeout: 2000 });
  await page.getByRole("button", { name: "Build the graph" }).click();
  await page.getByText("Recall@10").waitFor({ timeout: 180_000 });
  const facts = (await page.locator(".all-facts dd").allInnerTexts()).join("; ");
  console.log(facts);
  const recall = Number(facts.match(/([\d.]+) on \d+ tasks/)[1]);
  assert.ok(recall >= 0.97, `recall ${recall}`);
  await page.getByLabel("How to search").selectOption("graph");
  await page.getByText("through the HNSW graph").waitFor({ timeout: 10_000 });
  const found = await page.locator(".all-text").allInnerTexts();
  assert.ok(found.filter((text) => exact.includes(text)).length >= 9, "the graph finds what the scan finds");
  noFaults(faults);
  await context.close();
});

test("the chosen model searches all histories: by words until its vectors are made, once", async () => {
  const tiny = path.join(path.dirname(fileURLToPath(import.meta.url)), "../data/models/xlmr-int8");
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/instances`);
  await page.getByRole("link", { name: "Search all histories" }).waitFor({ timeout: 60_000 });
  await drop(page, tiny);
  await page.locator(".found .primary").click({ timeout: 60_000 });
  await page.locator(".kept-model").waitFor({ timeout: 60_000 });
  await page.goto(`${site.url}#/search?q=window%20seat`);
  const offer = page.getByRole("region", { name: "Vectors of the chosen model" });
  await offer.getByText(/ships vectors of all-minilm-l6-v2, and the embedding model chosen in Settings is xlmr-int8/).waitFor({ timeout: 60_000 });
  await page.getByText("by words, since there are no vectors of the chosen model").waitFor({ timeout: 60_000 });
  await offer.getByRole("button", { name: "Embed all passages with xlmr-int8" }).click();
  await page.getByText(/History \d+ of 24/).waitFor({ timeout: 60_000 });
  await page.getByText(/every passage compared \(vectors of xlmr-int8\)/).waitFor({ timeout: 240_000 });
  assert.equal(await page.locator("li.all-hit").count(), 10);
  // Another visit finds them kept.
  await page.goto("about:blank");
  await page.goto(`${site.url}#/search?q=window%20seat`);
  await page.getByText(/every passage compared \(vectors of xlmr-int8\)/).waitFor({ timeout: 60_000 });
  assert.equal(await offer.count(), 0);
  // Settings says so, and the search follows.
  await page.goto(`${site.url}#/settings`);
  await page.getByLabel(/MiniLM/).first().check({ timeout: 60_000 });
  await page.goto(`${site.url}#/search?q=window%20seat`);
  await page.getByText(/every passage compared \(vectors of all-minilm-l6-v2\)/).waitFor({ timeout: 60_000 });
  noFaults(faults);
  await context.close();
});

test("a run waits for the model, and goes on by words when the visitor says so", async () => {
  const release = holdModel();
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("button", { name: "Go on by words" }).click();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
  assert.ok((await steps(page)).length > 3, "the stages were carried out");
  assert.ok((await verdicts(page)).length > 0);
  const stored = await everythingStored(page);
  assert.match(stored, /none, by words/, "the record names what it used");
  assert.match(stored, /bm25/);
  release();
  noFaults(faults);
  await context.close();
});

test("a model that cannot be had is no end of a run: try again, or words", async () => {
  site.overrides[MODEL] = (request, response, send) => send(503, "down");
  const { context, page } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const offer = page.locator(".inst-offer");
  await offer.getByText(/embedding model could not be loaded/).waitFor({ timeout: 60_000 });
  delete site.overrides[MODEL];
  await offer.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
  const stored = await everythingStored(page);
  assert.match(stored, /all-minilm-l6-v2/);
  assert.doesNotMatch(stored, /none, by words/);
  await context.close();
});
