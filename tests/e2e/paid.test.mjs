// What an embedding endpoint was paid for: by several runs, tabs and visits at once, when it changes its
// model, cuts texts, or asks for patience.
import test from "node:test";
import assert from "node:assert/strict";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { serveEmbeddings } from "./support/models.mjs";
import { startProvider } from "./support/provider.mjs";
import { answer } from "./support/answers.mjs";
import { CALL_INSTANCE, everythingStored, noFaults, run, useEndpoint } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const PATIENCE = 240_000;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

/** Chooses an embedding endpoint in Settings. */
async function useEmbeddings(page, { url, model = "bge-m3" }) {
  await page.goto(`${site.url}#/settings`);
  await page.getByText("An embedding endpoint", { exact: true }).click({ timeout: PATIENCE });
  await page.locator("#embedding-provider").selectOption("");
  for (const [field, text] of [["url", url], ["model", model]]) {
    await page.locator(`#embedding-${field}`).fill(text);
    await page.locator(`#embedding-${field}`).blur();
  }
}

/** Texts that were sent, and how many of them more than once. */
function sent(endpoint, from = 0) {
  const texts = endpoint.log.slice(from).flatMap((entry) => entry.body.input ?? []);
  return { texts, twice: texts.length - new Set(texts).size };
}

/** Vectors of so many numbers, as an endpoint answers. */
const vectors = (dim) => (body) => ({ body: { data: body.input.map((text, index) => ({ index, embedding: Array.from({ length: dim }, (_, n) => 1 + (text.charCodeAt(n % text.length) * (n + 3)) % 17) })) } });

const answersLate = (millis) => (endpoint) => {
  const reply = vectors(24);
  endpoint.state.misbehave = (body) => new Promise((done) => setTimeout(() => done(reply(body)), millis));
};

test("runs at the same time share what they pay for, in one tab and in two", async () => {
  const provider = await startProvider({ answer, delayMs: 20 });
  const endpoint = await serveEmbeddings();
  answersLate(150)(endpoint);
  const { context, page, faults } = await openPage(browser);
  await useEndpoint(page, site, { url: provider.url });
  await useEmbeddings(page, endpoint);
  const other = await context.newPage();
  await useEndpoint(other, site, { url: provider.url });
  await useEmbeddings(other, endpoint);
  // Five instances of one user on three lanes, and once more in another tab.
  for (const tab of [page, other]) {
    await tab.goto(`${site.url}#/instances?q=a1p1`);
    await tab.getByRole("button", { name: /^Run all 5/ }).waitFor({ timeout: PATIENCE });
  }
  await Promise.all([page, other].map((tab) => tab.getByRole("button", { name: /^Run all 5/ }).click()));
  for (const tab of [page, other]) await tab.getByText(/ended at 5 of 5/).waitFor({ timeout: PATIENCE });
  const { texts, twice } = sent(endpoint);
  assert.ok(texts.length > 200, `${texts.length} texts`);
  assert.equal(twice, 0, "no text is paid for twice");

  // A later visit asks for nothing, though the whole histories are gone.
  const before = endpoint.log.length;
  await page.evaluate(() => caches.delete("iba-lab-files-1"));
  await page.goto("about:blank");
  await page.goto(`${site.url}#/search?q=window%20seat`);
  const offer = page.getByRole("region", { name: "Vectors of the chosen model" });
  await offer.getByRole("button", { name: /Embed all passages/ }).click({ timeout: PATIENCE });
  await page.getByText(/every passage compared \(vectors of bge-m3\)/).waitFor({ timeout: PATIENCE });
  assert.equal(sent(endpoint).twice, 0, "the passages of that user are not asked for again");
  assert.ok(sent(endpoint, before).texts.length > 1000, "those of the others are");
  noFaults(faults);
  await context.close();
  await endpoint.close();
  await provider.close();
});

test("a page that is closed in the middle keeps every batch that came", async () => {
  const endpoint = await serveEmbeddings();
  answersLate(200)(endpoint);
  const { context, page } = await openPage(browser);
  await useEmbeddings(page, endpoint);
  await page.goto(site.url + CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).click({ timeout: PATIENCE });
  while (endpoint.log.length < 4) await new Promise((done) => setTimeout(done, 20));
  const came = endpoint.log.slice(0, 3).flatMap((entry) => entry.body.input);
  await page.close({ runBeforeUnload: false });
  const before = endpoint.log.length;
  const next = await context.newPage();
  await next.goto(site.url + CALL_INSTANCE);
  await run(next, PATIENCE).catch(() => next.getByRole("button", { name: "Resume", exact: true }).click());
  await next.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: PATIENCE });
  const again = new Set(sent(endpoint, before).texts);
  for (const text of came) assert.ok(!again.has(text), "a text whose vector came is not asked for again");
  await context.close();
  await endpoint.close();
});

test("a model of another length behind the same name is seen, and passages are embedded anew once", async () => {
  const endpoint = await serveEmbeddings();
  const { context, page } = await openPage(browser);
  await useEmbeddings(page, endpoint);
  await page.goto(site.url + CALL_INSTANCE);
  await run(page, PATIENCE);
  const passages = new Set(sent(endpoint).texts);

  endpoint.state.misbehave = vectors(32);
  // Queries of other words, so that there is something to ask for.
  await page.goto(`${site.url}#/settings`);
  await page.locator("#embedding-query").fill("query: ");
  await page.locator("#embedding-query").blur();
  await page.goto(site.url + CALL_INSTANCE);
  await run(page, PATIENCE);
  await page.getByText(/have 32 numbers now and had 24 before/).first().waitFor({ timeout: PATIENCE });
  const before = endpoint.log.length;
  await run(page, PATIENCE);
  const { texts, twice } = sent(endpoint, before);
  assert.equal(twice, 0, "each text once");
  const again = texts.filter((text) => passages.has(text)).length;
  assert.ok(again > 0.8 * passages.size, `${again} of ${passages.size} texts again, the passages among them`);
  const stored = (await everythingStored(page)).replaceAll('\\"', '"');
  assert.match(stored, /"reading":\{"dim":32/, "the run goes by what the model gives now");
  const then = endpoint.log.length;
  await run(page, PATIENCE);
  assert.equal(endpoint.log.length, then, "and then nothing is asked for any more");
  await context.close();
  await endpoint.close();
});

test("texts that are too long are counted, in every run and on the search page", async () => {
  const refuse = (body) => body.input.some((text) => text.length > 700) ? { status: 400, body: { error: { message: "input is too long" } } } : null;
  const endpoint = await serveEmbeddings({ misbehave: refuse });
  const { context, page } = await openPage(browser);
  await useEmbeddings(page, endpoint);
  await page.goto(site.url + CALL_INSTANCE);
  const counts = [];
  for (const _ of [1, 2]) {
    await run(page, PATIENCE);
    await page.getByText("How this result was made").click();
    counts.push((await page.locator("details.inst-fold").filter({ hasText: "How this result was made" }).innerText()).match(/(\d+) passages of the history are longer/)?.[1]);
    await page.reload();
    await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: PATIENCE });
  }
  assert.ok(Number(counts[0]) > 0, `counted ${counts[0]}`);
  assert.equal(counts[1], counts[0], "a run by kept vectors says the same");
  await context.close();
  await endpoint.close();

  // A server that cuts at the model's window without a word.
  const silent = await serveEmbeddings();
  const second = await openPage(browser);
  await useEmbeddings(second.page, { url: silent.url, model: "paraphrase-multilingual" });
  await second.page.goto(`${site.url}#/search?q=window%20seat`);
  await second.page.getByRole("button", { name: /Embed all passages/ }).click({ timeout: PATIENCE });
  const said = second.page.getByText(/[\d,]+ passages are longer than paraphrase-multilingual reads/);
  await said.waitFor({ timeout: PATIENCE });
  await second.page.goto("about:blank");
  await second.page.goto(`${site.url}#/search?q=window%20seat`);
  await said.waitFor({ timeout: PATIENCE });
  await second.context.close();
  await silent.close();
});

test("a wait that the endpoint asks for is shown while all histories are searched", async () => {
  const endpoint = await serveEmbeddings();
  endpoint.state.misbehave = (body, number) => number === 2 ? { status: 429, body: { error: { message: "slow down, please" } } } : null;
  const { context, page } = await openPage(browser);
  await useEmbeddings(page, endpoint);
  await page.goto(`${site.url}#/search?q=window%20seat`);
  await page.getByRole("button", { name: /Embed all passages/ }).click({ timeout: PATIENCE });
  await page.getByText(/Waiting \d+ s, since .*slow down, please/).waitFor({ timeout: PATIENCE });
  await page.getByText(/every passage compared/).waitFor({ timeout: PATIENCE });
  await context.close();
  await endpoint.close();
});

test("the search page says when the chosen endpoint has no address, also for runs by words", async () => {
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/settings`);
  await page.getByText("An embedding endpoint", { exact: true }).click({ timeout: PATIENCE });
  await page.getByText("By words", { exact: true }).first().click();
  await page.goto(`${site.url}#/search?q=window%20seat`);
  await page.getByText(/The embedding endpoint: .*no address/).waitFor({ timeout: PATIENCE });
  await page.getByLabel("How to search").selectOption("words");
  await page.getByText(/nearest of [\d\s,]+ passages, by words;/).waitFor({ timeout: PATIENCE });
  noFaults(faults);
  await context.close();
});
