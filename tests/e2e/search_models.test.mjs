// All histories searched by a model that the dataset ships no vectors of, one in this browser or one
// behind an endpoint: what is offered, what is kept when the making stops or fails, and what is sent.
import test from "node:test";
import assert from "node:assert/strict";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { serveFiles, serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { drop } from "./support/drop.mjs";
import { serveEmbeddings } from "./support/models.mjs";
import { onlyShards, readDataset, recordsOf, manifestOf } from "./support/dataset.mjs";
import { enterEmbeddingKey, everythingStored, noFaults, openInstance, run, useEmbeddings } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const TINY = path.join(path.dirname(fileURLToPath(import.meta.url)), "../data/models/xlmr-int8");
const KEY = "sk-embed-test-7654321";
const PATIENCE = 60_000;
/** Histories of four users. */
const FEW = ["a1p1", "a2p1", "a3p1", "a4p1"];
let browser, site, host, tasks;
test.before(async () => {
  browser = await launch();
  site = await serveSite({ root });
  const few = onlyShards(await readDataset(path.join(root, "datasets", "iba-mini")), FEW);
  tasks = recordsOf(few, manifestOf(few).index.path);
  host = await serveFiles(few);
});
test.after(async () => { await browser.close(); await site.close(); await host.close(); });

const data = () => `data=${encodeURIComponent(`${host.url}manifest.json`)}`;
const search = (text, by) => `${site.url}#/search?q=${encodeURIComponent(text)}${by ? `&by=${by}` : ""}&${data()}`;
const offer = (page) => page.getByRole("region", { name: "Vectors of the chosen model" });
const embed = (page, model) => offer(page).getByRole("button", { name: `Embed all passages with ${model}` });
const byMeaning = (page, model) => page.getByText(`by meaning, every passage compared (vectors of ${model})`);
const byWords = (page) => page.getByText("by words, since there are no vectors of the chosen model");
const texts = (page) => page.locator(".all-text").allInnerTexts();

/**
 * Notes the texts that the page has embedded as passages, group by group, from its first script on, and
 * which of the groups were answered.
 */
async function watchEmbedding(page) {
  await page.addInitScript(() => {
    globalThis.groups = [];
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...rest) {
      const { id, request } = typeof message?.json === "string" ? JSON.parse(message.json) : {};
      if (request?.type === "embed_passages") {
        const group = { texts: request.texts, through: false };
        groups.push(group);
        this.addEventListener("message", ({ data }) => {
          const told = JSON.parse(data.json);
          if (told.id === id && told.event.type === "done") group.through = true;
        });
      }
      return post.call(this, message, ...rest);
    };
  });
  return () => page.evaluate(() => groups);
}

/** A page with the tiny model chosen and a search by it, which is one by words so far. */
async function withTiny() {
  const opened = await openPage(browser);
  const { page } = opened;
  const groups = await watchEmbedding(page);
  await page.goto(`${site.url}#/settings`);
  await page.getByText("Add a model", { exact: true }).waitFor({ timeout: PATIENCE });
  await drop(page, TINY);
  await page.locator(".found .primary").click({ timeout: PATIENCE });
  await page.locator(".kept-model").waitFor({ timeout: PATIENCE });
  await page.goto(search("window seat"));
  await byWords(page).waitFor({ timeout: PATIENCE });
  return { ...opened, groups };
}

/** Begins to embed, and waits until some histories are through. */
async function beginEmbedding(page, model) {
  await embed(page, model).click();
  await page.getByText(/^History 3 of 4/).waitFor({ timeout: PATIENCE });
}

/** The offers stand there again, with results by words and no work under way. */
async function offeredAgain(page, model) {
  await embed(page, model).waitFor({ timeout: PATIENCE });
  await offer(page).getByRole("button", { name: "Search by the shipped model" }).waitFor();
  await byWords(page).waitFor();
  await page.locator(".all-progress").waitFor({ state: "detached", timeout: PATIENCE });
  assert.equal(await page.locator("li.all-hit").count(), 10, "the results by words are still there");
}

/**
 * Checks that what had come before the end of a first start is not embedded again by a second one; what was
 * under way then may be. All are groups of texts: those of the moment before the end, of the first start,
 * and of both.
 */
function wentOn(before, first, all) {
  const come = before.filter((group) => group.through).flatMap((group) => group.texts);
  const second = all.slice(first.length).flatMap((group) => group.texts);
  assert.ok(come.length > 0, "something was through before");
  assert.deepEqual(second.filter((text) => come.includes(text)), [], "no text is embedded twice");
  assert.ok(second.length > 0, "something was left to do");
}

test("cancelled in the middle, the offers come back, and a second start goes on where it stopped", async () => {
  const { context, page, faults, groups } = await withTiny();
  assert.match(await offer(page).innerText(), /What is done is kept, so that it can be stopped and gone on with; runs use it, too/);
  assert.deepEqual(await groups(), [], "nothing is embedded unasked");
  const words = await texts(page);
  await beginEmbedding(page, "xlmr-int8");
  assert.equal(await offer(page).count(), 0, "no offer while it is under way");
  const before = await groups();
  await page.locator(".all-progress").getByRole("button", { name: "Cancel" }).click();
  await offeredAgain(page, "xlmr-int8");
  assert.equal(await page.locator(".problem").count(), 0, "that was no failure");
  assert.deepEqual(await texts(page), words);
  const first = await groups();

  await embed(page, "xlmr-int8").click();
  await byMeaning(page, "xlmr-int8").waitFor({ timeout: PATIENCE });
  assert.equal(await offer(page).count(), 0);
  const all = await groups();
  wentOn(before, first, all);
  assert.equal(await page.locator("li.all-hit").count(), 10);

  // Runs use it, too.
  await openInstance(page, site, `#/instance/${tasks[0].id}?${data()}`);
  assert.match(await page.locator("#retriever").inputValue(), /^kept:/);
  await run(page, PATIENCE);
  assert.equal((await groups()).length, all.length, "a run embeds no passage of these again");
  noFaults(faults);
  await context.close();
});

test("an engine that dies while it embeds is told, and what was done is kept", async () => {
  const { context, page, groups } = await withTiny();
  await beginEmbedding(page, "xlmr-int8");
  const before = await groups();
  // Whichever worker is next asked to embed dies of it.
  await Promise.all(page.workers().map((worker) => worker.evaluate(() => {
    addEventListener("message", ({ data }) => {
      if (/"embed_passages"/.test(data.json)) setTimeout(() => { throw new Error("struck down"); });
    });
  })));
  const problem = page.locator(".problem");
  await problem.waitFor({ timeout: PATIENCE });
  console.log((await problem.innerText()).replaceAll("\n", " | "));
  assert.match(await problem.innerText(), /The engine stopped unexpectedly: .*struck down/);
  await offeredAgain(page, "xlmr-int8");
  const first = await groups();
  await embed(page, "xlmr-int8").click();
  await byMeaning(page, "xlmr-int8").waitFor({ timeout: PATIENCE });
  assert.equal(await problem.count(), 0, "the old failure is gone");
  wentOn(before, first, await groups());
  await context.close();
});

test("the shipped model searches in the place of the chosen one, and nothing is embedded", async () => {
  const { context, page, faults, groups } = await withTiny();
  await offer(page).getByRole("button", { name: "Search by the shipped model" }).click();
  await byMeaning(page, "all-minilm-l6-v2").waitFor({ timeout: PATIENCE });
  assert.equal(await offer(page).count(), 0);
  assert.deepEqual(await groups(), []);
  // Runs are not touched by it.
  await openInstance(page, site, `#/instance/${tasks[0].id}?${data()}`);
  assert.match(await page.locator("#retriever").inputValue(), /^kept:/);
  noFaults(faults);
  await context.close();
});

/** Bodies of the calls of an endpoint from the n-th on. */
const sent = (endpoint, from = 0) => endpoint.log.slice(from).map((entry) => entry.body.input);

test("an embedding endpoint searches all histories: each text is sent once, each query once", async () => {
  const endpoint = await serveEmbeddings();
  const { context, page, faults } = await openPage(browser);
  await useEmbeddings(page, site, { url: endpoint.url, key: KEY });
  await page.goto(search("window seat"));
  await byWords(page).waitFor({ timeout: PATIENCE });
  assert.match(await offer(page).innerText(), /Every passage is sent to the endpoint once, which may cost money\. What came is kept/);
  assert.equal(endpoint.log.length, 0, "nothing is sent unasked");
  await embed(page, "bge-m3").click();
  await byMeaning(page, "bge-m3").waitFor({ timeout: PATIENCE });
  const passages = sent(endpoint).slice(0, -1).flat();
  assert.deepEqual(sent(endpoint).at(-1), ["window seat"], "the query comes last, alone");
  assert.equal(new Set(passages).size, passages.length, "no text is sent twice");
  const rows = Number((await page.locator(".all-said").innerText()).match(/of ([\d.,\u2009\u202f ]+) passages/)[1].replace(/\D/g, ""));
  // Some passages stand in several histories.
  assert.ok(passages.length <= rows && passages.length > rows / 2, `${passages.length} texts of ${rows} passages`);
  for (const { path: address, key, body } of endpoint.log) {
    assert.equal(address, "/v1/embeddings");
    assert.equal(key, `Bearer ${KEY}`);
    assert.deepEqual(Object.keys(body).sort(), ["input", "model"]);
    assert.equal(body.model, "bge-m3");
  }
  const hits = await texts(page);
  assert.deepEqual(hits.filter((hit) => !passages.includes(hit)), [], "what is found was sent");

  // Another query sends itself; the first one again, in whichever way, nothing.
  let before = endpoint.log.length;
  await page.goto(search("no spicy food"));
  await page.waitForFunction((old) => document.querySelector(".all-text")?.textContent !== old, hits[0], { timeout: PATIENCE });
  await page.goto(search("window seat"));
  await page.waitForFunction((old) => document.querySelector(".all-text")?.textContent === old, hits[0], { timeout: PATIENCE });
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.goto(search("window seat", "both"));
  await page.getByText("by meaning and words (vectors of bge-m3)").waitFor({ timeout: PATIENCE });
  await page.goto(search("window seat", "words"));
  await page.getByText(/passages, by words; searched in/).waitFor({ timeout: PATIENCE });
  assert.deepEqual(sent(endpoint, before), [["no spicy food"]]);

  // A graph is built of the vectors that are here; the tasks that measure it are sent once.
  before = endpoint.log.length;
  await page.getByRole("button", { name: "Build the graph" }).click();
  await page.getByText("Recall@10").waitFor({ timeout: PATIENCE });
  const asked = sent(endpoint, before).flat();
  assert.ok(asked.length > 0 && new Set(asked).size === asked.length, "each task once");
  const instructions = tasks.map((task) => task.instruction);
  assert.deepEqual(asked.filter((text) => !instructions.includes(text)), [], "nothing but tasks");

  // The next visit has the vectors, and the query's, without a key.
  const kept = await page.evaluate(async () => {
    const names = [];
    for (const cache of await caches.keys()) for (const { url } of await (await caches.open(cache)).keys()) names.push(url);
    return names.join("\n");
  });
  assert.ok(!(await everythingStored(page)).includes(KEY) && !kept.includes(KEY), "the key is nowhere");
  before = endpoint.log.length;
  await page.goto("about:blank");
  await page.goto(search("window seat"));
  await byMeaning(page, "bge-m3").waitFor({ timeout: PATIENCE });
  assert.deepEqual(await texts(page), hits);
  assert.deepEqual(sent(endpoint, before), []);
  noFaults(faults);
  await context.close();
  await endpoint.close();
});

for (const [name, answer, said] of [
  ["refuses the key", { status: 401, body: { error: { message: "Incorrect API key provided" } } }, /The key was not accepted: Incorrect API key provided[^]*Check the key/],
  ["is out of credit", { status: 402, body: { error: { message: "Insufficient Balance" } } }, /Out of credit: Insufficient Balance[^]*what is finished is kept and not paid again/],
  ["fails again and again", { status: 500, body: { error: { message: "worker crashed" } } }, /The server failed: worker crashed[^]*try again later/],
]) {
  test(`an endpoint that ${name} in the middle: it is said, and what was paid is kept`, async () => {
    const endpoint = await serveEmbeddings({ misbehave: (_, number) => (number > 6 ? answer : null) });
    const { context, page, faults } = await openPage(browser);
    await useEmbeddings(page, site, { url: endpoint.url, key: KEY });
    await page.goto(search("window seat"));
    await byWords(page).waitFor({ timeout: PATIENCE });
    await embed(page, "bge-m3").click();
    const problem = page.locator(".problem");
    await problem.waitFor({ timeout: PATIENCE });
    console.log((await problem.innerText()).replaceAll("\n", " | "), `(${endpoint.log.length} calls)`);
    assert.match(await problem.innerText(), said);
    assert.ok(!(await problem.innerText()).includes(KEY));
    await offeredAgain(page, "bge-m3");
    const paid = sent(endpoint).slice(0, 6).flat();
    const before = endpoint.log.length;
    endpoint.state.misbehave = () => null;
    await embed(page, "bge-m3").click();
    await byMeaning(page, "bge-m3").waitFor({ timeout: PATIENCE });
    assert.equal(await problem.count(), 0, "the old failure is gone");
    const later = sent(endpoint, before).flat();
    assert.ok(paid.length > 0 && later.length > 1);
    assert.deepEqual(later.filter((text) => paid.includes(text)), [], "nothing is paid twice");
    noFaults(faults);
    await context.close();
    await endpoint.close();
  });
}

/** A visit with vectors of an endpoint and a query known, but without the key, which the endpoint wants. */
async function withoutKey() {
  const endpoint = await serveEmbeddings();
  const refusal = { status: 401, body: { error: { message: "You didn't provide an API key" } } };
  endpoint.state.misbehave = () => (endpoint.log.at(-1).key === `Bearer ${KEY}` ? null : refusal);
  const opened = await openPage(browser);
  const { page } = opened;
  await useEmbeddings(page, site, { url: endpoint.url, key: KEY });
  await page.goto(search("window seat"));
  await embed(page, "bge-m3").click({ timeout: PATIENCE });
  await byMeaning(page, "bge-m3").waitFor({ timeout: PATIENCE });
  await page.goto("about:blank");
  await page.goto(search("window seat"));
  await byMeaning(page, "bge-m3").waitFor({ timeout: PATIENCE });
  const known = await texts(page);
  await page.goto(search("no spicy food"));
  await page.locator(".problem").filter({ hasText: /The key was not accepted: You didn't provide an API key/ }).waitFor({ timeout: PATIENCE });
  return { ...opened, endpoint, known };
}

test("a query that the endpoint refused is asked again once there is a key", async () => {
  const { context, page, faults, endpoint, known } = await withoutKey();
  await page.goto(`${site.url}#/settings`);
  await enterEmbeddingKey(page, KEY);
  const before = endpoint.log.length;
  await page.goto(search("no spicy food"));
  await page.waitForFunction((old) => document.querySelector(".all-text")?.textContent !== old, known[0], { timeout: PATIENCE });
  await byMeaning(page, "bge-m3").waitFor({ timeout: PATIENCE });
  assert.equal(await page.locator(".problem").count(), 0);
  assert.deepEqual(sent(endpoint, before), [["no spicy food"]]);
  noFaults(faults);
  await context.close();
  await endpoint.close();
});

test("no hits of another query stand below a query that was refused", async () => {
  const { context, page, faults, endpoint, known } = await withoutKey();
  assert.notDeepEqual((await texts(page)).map((text) => text.slice(0, 60)), known.map((text) => text.slice(0, 60)));
  noFaults(faults);
  await context.close();
  await endpoint.close();
});

test("embedding goes on while the visitor looks at a session or asks for something else", async () => {
  const { context, page, faults, groups } = await withTiny();
  await beginEmbedding(page, "xlmr-int8");
  await page.locator("li.all-hit a").nth(1).click();
  await page.getByRole("button", { name: "Run", exact: true }).waitFor({ timeout: PATIENCE });
  await page.goBack();
  await byMeaning(page, "xlmr-int8").waitFor({ timeout: PATIENCE });
  assert.equal(await offer(page).count(), 0);
  assert.ok((await groups()).length > 0);
  noFaults(faults);
  await context.close();
});

test("a choice in Settings ends the search by the shipped model", async () => {
  const { context, page, faults } = await withTiny();
  await offer(page).getByRole("button", { name: "Search by the shipped model" }).click();
  await byMeaning(page, "all-minilm-l6-v2").waitFor({ timeout: PATIENCE });
  await page.goto(`${site.url}#/settings`);
  await page.getByLabel(/MiniLM/).first().check({ timeout: PATIENCE });
  await page.locator(".kept-model input[type=radio]").first().check();
  await page.goto(search("window seat"));
  await embed(page, "xlmr-int8").waitFor({ timeout: PATIENCE });
  noFaults(faults);
  await context.close();
});

test("without vectors of the chosen model there is no graph to build, and that is said", async () => {
  const { context, page, faults } = await withTiny();
  await page.getByRole("button", { name: "Build the graph" }).click();
  await page.locator(".all-graph .problem").filter({ hasText: /xlmr-int8/ }).waitFor({ timeout: 10_000 });
  assert.equal(await page.locator("li.all-hit").count(), 10);
  noFaults(faults);
  await context.close();
});
