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
import { startProvider } from "./support/provider.mjs";
import { answer } from "./support/answers.mjs";
import { CALL_INSTANCE, everythingStored, noFaults, openInstance, steps, useEndpoint, verdicts } from "./support/steps.mjs";

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

/** Slow answers, so that a run can be left in the middle. */
async function slowProvider() {
  return startProvider({ answer, delayMs: 400 });
}

/** Waits until a run has a stage and a call under way, then ends its page as a crash would. */
async function leaveInTheMiddle(page, provider, calls) {
  while (provider.calls.length < calls) await new Promise((done) => setTimeout(done, 50));
  await page.close({ runBeforeUnload: false });
}

const recordsOf = (stored) => [...stored.replaceAll('\\"', '"').matchAll(/"retriever":\{"model":"([^"]*)","model_sha256":"[0-9a-f]*","method":"([^"]*)"/g)].map(([, model, method]) => `${model}: ${method}`);

test("a run by words that was interrupted goes on by words, and its record says so", async () => {
  const release = holdModel();
  const provider = await slowProvider();
  const { context, page } = await openPage(browser);
  await useEndpoint(page, site, { url: provider.url });
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("button", { name: "Go on by words" }).click();
  await leaveInTheMiddle(page, provider, 4);
  const answered = provider.calls.slice(0, 3).map((call) => JSON.stringify(call.body.messages));
  const paid = provider.calls.length;
  provider.state.delayMs = 0;
  release();
  const next = await context.newPage();
  await useEndpoint(next, site, { url: provider.url });
  await next.goto(site.url + CALL_INSTANCE);
  await next.getByRole("button", { name: "Resume", exact: true }).click({ timeout: 30_000 });
  await next.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
  const later = provider.calls.slice(paid).map((call) => JSON.stringify(call.body.messages));
  for (const messages of answered) assert.ok(!later.includes(messages), "an answered call is not asked again");
  assert.deepEqual(recordsOf(await everythingStored(next)), ["none, by words: bm25"]);
  await context.close();
  await provider.close();
});

test("a list's run that was interrupted goes on by words where there is no model any more, and says so", async () => {
  const provider = await slowProvider();
  const { context, page } = await openPage(browser);
  await useEndpoint(page, site, { url: provider.url });
  await page.goto(`${site.url}#/instances?q=food_ordering-a`);
  await page.getByRole("button", { name: "Run all 1" }).click({ timeout: 60_000 });
  await leaveInTheMiddle(page, provider, 5);
  provider.state.delayMs = 0;
  const next = await context.newPage();
  await next.goto(`${site.url}#/settings`);
  await next.evaluate(() => caches.delete("iba-lab-files-1"));
  assert.deepEqual(recordsOf(await everythingStored(next)), ["all-minilm-l6-v2: exact"]);
  const release = holdModel();
  await next.goto("about:blank");
  await useEndpoint(next, site, { url: provider.url });
  await next.goto(site.url + CALL_INSTANCE);
  await next.getByRole("button", { name: "Resume", exact: true }).click({ timeout: 30_000 });
  await next.getByRole("button", { name: "Go on by words" }).click({ timeout: 30_000 });
  await next.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
  assert.deepEqual(recordsOf(await everythingStored(next)), ["none, by words: bm25"]);
  // For the list this is other work: with the model it is run by meaning, and both records stay.
  release();
  await next.goto(`${site.url}#/instances?q=food_ordering-a`);
  await next.getByRole("button", { name: "Run all 1" }).click();
  await next.getByText(/ended at 1 of 1/).waitFor({ timeout: 60_000 });
  assert.deepEqual(recordsOf(await everythingStored(next)).sort(), ["all-minilm-l6-v2: exact", "none, by words: bm25"]);
  await next.getByText("All of these are done").waitFor();
  await context.close();
  await provider.close();
});
