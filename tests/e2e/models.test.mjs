// Embedding models that the visitor brings: found, fetched with faults on the way, tried, kept, used by
// a run, deleted; and vectors from an embedding endpoint.
import test from "node:test";
import assert from "node:assert/strict";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { serveEmbeddings, serveModel } from "./support/models.mjs";
import { CALL_INSTANCE, everythingStored, noFaults, openInstance, run, useEmbeddings } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const MODELS = path.join(path.dirname(fileURLToPath(import.meta.url)), "../data/models");
const TINY = path.join(MODELS, "xlmr-int8");
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

const PATIENCE = 240_000;

/** Looks at an address in Settings. */
async function look(page, url) {
  if (!page.url().endsWith("#/settings")) await page.goto(`${site.url}#/settings`);
  const field = page.locator("#model-address");
  await page.getByText("Add a model", { exact: true }).waitFor({ timeout: PATIENCE });
  if (!(await field.isVisible())) await page.getByText("Add a model", { exact: true }).click();
  await field.fill(url);
  await page.getByRole("button", { name: "Look", exact: true }).click();
}

/** What is said where models are added: a failure, or nothing when it went well. */
async function outcome(page) {
  const work = page.locator(".model-work");
  await page.waitForFunction(() => {
    const work = document.querySelector(".model-work");
    return work && !work.querySelector("progress");
  }, null, { timeout: PATIENCE });
  return (await work.innerText()).trim();
}

/** Browsers write refused requests into the console; which they are is what these tests provoke. */
function withoutCors(faults) {
  noFaults(faults.filter((fault) => !/CORS|Access-Control|net::ERR/.test(fault)));
}

async function fetchIt(page) {
  await page.locator(".found .primary").click({ timeout: PATIENCE });
  return outcome(page);
}

test("a model is found with its size, fetched, tried, used by a run, and deleted", async () => {
  const host = await serveModel(TINY);
  const { context, page, faults } = await openPage(browser);
  await look(page, host.url);
  const found = page.locator(".found");
  await found.waitFor({ timeout: PATIENCE });
  assert.match(await found.innerText(), /Takes 51 kB of this browser's storage/, "graph and tokenizer");
  assert.match(await found.locator(".primary").innerText(), /Download 51 kB/);
  assert.equal(await page.locator("#found-pooling").inputValue(), "cls", "the folder says how it pools");
  assert.equal(await page.locator("#found-limit").inputValue(), "128", "positions less the two that XLM-R leaves free");
  assert.ok(!host.log.some((entry) => entry.method === "GET" && entry.name.endsWith(".onnx")), "nothing large is fetched unasked");
  assert.equal(await fetchIt(page), "");
  const kept = page.locator(".kept-model");
  assert.match(await kept.innerText(), /32 numbers · fast encoder · sha256 [0-9a-f]{12}/);
  assert.match(await kept.innerText(), /51 kB in the private file system of this browser/, "where it is kept");
  assert.match(await page.locator(".kept-where").innerText(), /which (may drop them|has promised to leave them there)/);
  assert.ok(await kept.locator("input[type=radio]").first().isChecked(), "it is chosen once it is there");

  await openInstance(page, site, CALL_INSTANCE);
  assert.match(await page.locator("#retriever").inputValue(), /^kept:/);
  await run(page, 400_000);
  const stored = (await everythingStored(page)).replaceAll('\\"', '"');
  assert.match(stored, /"pooling":"cls"/, "the record says how the model was read");
  assert.match(stored, /"max_tokens":128/);
  assert.match(stored, /"cut_passages":\d+/, "and how many passages are longer than it reads");

  await page.goto(`${site.url}#/settings`);
  await page.getByRole("button", { name: "Delete …" }).click({ timeout: PATIENCE });
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await kept.waitFor({ state: "detached", timeout: PATIENCE });
  noFaults(faults);
  await context.close();
  await host.close();
});

test("a cut download goes on where it was, and never mixes two versions", async () => {
  const host = await serveModel(TINY, { faults: { "model.onnx": { cut: 20_000, times: 1 } } });
  const { context, page, faults } = await openPage(browser);
  await look(page, host.url);
  assert.equal(await fetchIt(page), "", "it goes on by itself");
  const parts = host.log.filter((entry) => entry.name === "model.onnx" && entry.method === "GET" && entry.status !== 403);
  assert.equal(parts.at(-1).range, "bytes=15904-", "with the last kept bytes once more");
  assert.equal(parts.at(-1).status, 206);
  const hash = /sha256 ([0-9a-f]{12})/.exec(await page.locator(".kept-model").innerText())[1];
  const { createHash } = await import("node:crypto");
  const { readFileSync } = await import("node:fs");
  assert.equal(hash, createHash("sha256").update(readFileSync(path.join(TINY, "model.onnx"))).digest("hex").slice(0, 12));
  withoutCors(faults);
  await context.close();
  await host.close();
});

test("a host without ranges starts again", async () => {
  const host = await serveModel(TINY, { ranges: false, faults: { "model.onnx": { cut: 20_000, times: 1 } } });
  const { context, page, faults } = await openPage(browser);
  await look(page, host.url);
  assert.equal(await fetchIt(page), "");
  assert.match(await page.locator(".kept-model").innerText(), /fast encoder/);
  withoutCors(faults);
  await context.close();
  await host.close();
});

test("faults are told by what they are, and nothing is broken by them", async () => {
  const { context, page, faults } = await openPage(browser);
  const hosts = [];
  for (const [options, folder, fetches, said] of [
    [{ cors: false }, TINY, false, /does not let other sites read it \(CORS\)/],
    [{ faults: { "model.onnx": { missing: true } } }, TINY, false, /has no ONNX file where one was looked for/],
    [{ faults: { "model.onnx": { html: true } } }, TINY, false, /web page instead of data|no ONNX file/],
    [{ faults: { "tokenizer.json": { missing: true } } }, TINY, false, /no tokenizer\.json beside the model/],
    [{ faults: { "model.onnx": { corrupt: true } } }, TINY, true, /no ONNX file, or a damaged one/],
    [{ faults: { "model.onnx_data": { missing: true } } }, path.join(MODELS, "ext"), true, /model\.onnx_data, which is missing/],
  ]) {
    const host = await serveModel(folder, options);
    hosts.push(host);
    await look(page, host.url);
    const told = fetches ? await fetchIt(page) : await outcome(page);
    assert.match(told, said);
    await page.getByRole("button", { name: "Close", exact: true }).click();
  }
  await openInstance(page, site, CALL_INSTANCE);
  await run(page, 400_000);
  withoutCors(faults);
  await context.close();
  for (const host of hosts) await host.close();
});

test("an embedding endpoint finds passages, in batches, and is paid once", async () => {
  const endpoint = await serveEmbeddings({ most: 20 });
  const { context, page, faults } = await openPage(browser);
  await useEmbeddings(page, site, { url: endpoint.url, key: "sk-embed-test-1234567" });
  await page.locator(".form .test button").last().click();
  await page.getByText(/gave 24 numbers/).waitFor({ timeout: PATIENCE });
  await openInstance(page, site, CALL_INSTANCE);
  await run(page, 400_000);
  const asked = endpoint.log.filter((entry) => entry.path === "/v1/embeddings");
  const sizes = asked.map((entry) => entry.body.input.length);
  assert.ok(sizes.some((size) => size > 20) && sizes.filter((size) => size <= 20).length > 1, `batches were made smaller: ${sizes}`);
  assert.ok(asked.every((entry) => entry.key === "Bearer sk-embed-test-1234567"));
  const stored = (await everythingStored(page)).replaceAll('\\"', '"');
  assert.match(stored, /"role":"embedding"/, "its calls are in the record, by their role");
  assert.match(stored, /"pooling":"by the provider"/);
  assert.ok(!stored.includes("sk-embed-test"), "no key is kept");

  const before = endpoint.log.length;
  await page.reload();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: PATIENCE });
  await useEmbeddings(page, site, { url: endpoint.url, key: "sk-embed-test-1234567" });
  await openInstance(page, site, CALL_INSTANCE).catch(() => {});
  await page.goto(site.url + CALL_INSTANCE);
  await run(page, 400_000);
  assert.equal(endpoint.log.length, before, "nothing is asked twice");
  noFaults(faults);
  await context.close();
  await endpoint.close();
});

test("an endpoint that answers wrongly is told, and the run says so", async () => {
  const endpoint = await serveEmbeddings({ misbehave: (body) => ({ body: { data: [{ index: 0, embedding: [1, null] }].concat((body.input ?? []).slice(1).map((_, n) => ({ index: n + 1, embedding: [1, 2] }))) } }) });
  const { context, page, faults } = await openPage(browser);
  await useEmbeddings(page, site, { url: endpoint.url });
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText(/text 1 holds null at place 2/).first().waitFor({ timeout: PATIENCE });
  noFaults(faults);
  await context.close();
  await endpoint.close();
});
