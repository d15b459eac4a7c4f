// A visitor with an endpoint: the same run with a model, and every fault as a sentence.
import test from "node:test";
import assert from "node:assert/strict";
import zlib from "node:zlib";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { startProvider } from "./support/provider.mjs";
import { answer } from "./support/answers.mjs";
import { TEXT_INSTANCE, download, everythingStored, noFaults, openInstance, run, useEndpoint, verdicts } from "./support/steps.mjs";

const KEY = "sk-test-key-123456";
const root = process.env.IBA_LAB_DIST;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

async function withEndpoint(options, body) {
  const provider = await startProvider({ answer, key: KEY, ...options });
  const { context, page, faults } = await openPage(browser);
  try {
    await useEndpoint(page, site, { url: provider.url });
    await body({ provider, page, context, faults });
  } finally {
    await context.close();
    await provider.close();
  }
}

test("a model runs every step, judges every requirement, and the key is nowhere", async () => {
  await withEndpoint({}, async ({ provider, page, faults }) => {
    await page.getByRole("button", { name: "Test", exact: true }).first().click();
    await page.getByText(/answered in/).waitFor();
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    const judged = await verdicts(page);
    assert.ok(judged.length >= 2);
    assert.ok(judged.every((verdict) => verdict.state !== "unscored"), JSON.stringify(judged));
    assert.ok(provider.calls.length >= 8, `${provider.calls.length} calls`);
    for (const call of provider.calls) {
      const named = Object.keys(call.headers).filter((name) => /^(authorization|content-type|x-)/.test(name));
      assert.deepEqual(named.sort(), ["authorization", "content-type"], "no header a preflight could refuse");
    }
    const saved = await download(page, () => page.getByRole("button", { name: "JSON, gzip'd" }).click());
    assert.ok(!zlib.gunzipSync(saved.bytes).toString().includes(KEY), "the key is not in the file");
    assert.ok(!(await everythingStored(page)).includes(KEY), "the key is not in storage or address");
    noFaults(faults);
  });
});

test("a wrong key is called a wrong key", async () => {
  await withEndpoint({ key: "sk-another" }, async ({ page }) => {
    await page.getByRole("button", { name: "Test", exact: true }).first().click();
    await page.locator(".answer.bad").waitFor();
    const said = await page.locator(".answer.bad").innerText();
    assert.match(said, /key/i);
    assert.ok(!said.includes(KEY));
  });
});

test("an unreachable server is never called a bad key", async () => {
  const { context, page } = await openPage(browser);
  await useEndpoint(page, site, { url: "http://127.0.0.1:9/v1" });
  await page.getByRole("button", { name: "Test", exact: true }).first().click();
  await page.locator(".answer.bad").waitFor({ timeout: 60_000 });
  const said = await page.locator(".answer.bad").innerText();
  assert.match(said, /No answer from/);
  assert.doesNotMatch(said, /(wrong|invalid|bad|incorrect) key/i);
  await context.close();
});

test("a 429 with a wait is waited for, and a cut stream is asked again", async () => {
  const faults = [{ status: 429, headers: { "retry-after": "1", "access-control-expose-headers": "retry-after" }, body: JSON.stringify({ error: { message: "too many requests" } }) }, null, { cutAfter: 1 }];
  await withEndpoint({ faults }, async ({ provider, page }) => {
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    assert.ok((await verdicts(page)).every((verdict) => verdict.state !== "unscored"));
    const waited = provider.calls[1].at - provider.calls[0].at;
    assert.ok(waited >= 900, `waited ${waited} ms`);
    const requests = provider.calls.map((call) => JSON.stringify(call.body.messages));
    assert.equal(requests[0], requests[1], "the refused call was asked again");
    assert.equal(requests[2], requests[3], "the cut call was asked again");
  });
});

test("a malformed judge leaves its requirements unscored, with the reason", async () => {
  const garbled = (body) => /strict examiner/.test(JSON.stringify(body.messages)) ? "I'm sorry, but I can't help with evaluating this content." : answer(body);
  await withEndpoint({ answer: garbled }, async ({ page }) => {
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    const judged = await verdicts(page);
    assert.ok(judged.some((verdict) => verdict.state === "unscored"), "never a silent not met");
    for (const verdict of judged) assert.ok(verdict.why.trim().length > 10);
  });
});

test("out of credit stops the run and keeps its stages", async () => {
  const faults = [null, null, { status: 402, body: JSON.stringify({ error: { message: "Insufficient Balance" } }) }];
  await withEndpoint({ faults }, async ({ provider, page }) => {
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    assert.match(await page.locator(".inst-status").innerText(), /credit|balance/i);
    assert.equal(provider.calls.length, 3, "not asked again");
    const paid = provider.calls.length;
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByText(/came from the journal|not paid again/).first().waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
    const again = provider.calls.slice(paid).map((call) => JSON.stringify(call.body.messages));
    for (const call of provider.calls.slice(0, 2)) assert.ok(!again.includes(JSON.stringify(call.body.messages)), "nothing is paid twice");
  });
});

test("a page killed in the middle goes on where it was and pays nothing twice", async () => {
  await withEndpoint({ delayMs: 400 }, async ({ provider, page, context }) => {
    await openInstance(page, site, TEXT_INSTANCE);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    while (provider.calls.length < 4) await new Promise((done) => setTimeout(done, 50));
    await page.close({ runBeforeUnload: false });
    const answered = provider.calls.slice(0, 3).map((call) => JSON.stringify(call.body.messages));
    const paid = provider.calls.length;
    provider.state.delayMs = 0;
    const next = await context.newPage();
    await useEndpoint(next, site, { url: provider.url });
    await next.goto(site.url + TEXT_INSTANCE);
    await next.getByRole("button", { name: "Resume", exact: true }).click({ timeout: 60_000 });
    await next.getByText(/came from the journal|not paid again/).first().waitFor({ timeout: 60_000 });
    await next.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
    const later = provider.calls.slice(paid).map((call) => JSON.stringify(call.body.messages));
    for (const messages of answered) assert.ok(!later.includes(messages), "an answered call is not asked again");
    assert.ok((await verdicts(next)).every((verdict) => verdict.state !== "unscored"));
  });
});
