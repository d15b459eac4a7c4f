// What a visitor can do without an endpoint of their own, with a cap, with a full disk; and what a
// failed test says.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs/promises";
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

async function visit(body, options = {}) {
  const provider = await startProvider({ answer, key: KEY, ...options });
  const { context, page, faults } = await openPage(browser);
  page.setDefaultTimeout(90_000);
  try {
    await body({ provider, page, context, faults });
  } finally {
    await context.close();
    await provider.close();
  }
}

async function testSays(page) {
  await page.getByRole("button", { name: "Test", exact: true }).first().click();
  await page.locator(".answer.bad").waitFor({ timeout: 60_000 });
  return page.locator(".answer.bad").innerText();
}

test("a test tells an unknown model, an empty account, a limit and kept answers apart", async () => {
  const said = (message, more = {}) => JSON.stringify({ error: { message, ...more } });
  const faults = [
    { status: 404, body: said("The model `fake-lagre` does not exist", { code: "model_not_found" }) },
    { status: 402, body: said("Insufficient Balance") },
    { status: 429, headers: { "retry-after": "30" }, body: said("too many requests") },
    { status: 401, noCors: true, body: said("bad") },
  ];
  await visit(async ({ provider, page }) => {
    await useEndpoint(page, site, { url: provider.url, model: "fake-lagre" });
    assert.match(await testSays(page), /Did you mean fake-large/);
    assert.match(await testSays(page), /out of credit/i);
    const begun = Date.now();
    assert.match(await testSays(page), /too many requests/i);
    assert.ok(Date.now() - begun < 20_000, "a test does not sit out a limit");
    const kept = await testSays(page);
    assert.match(kept, /answers at/i, kept);
    assert.doesNotMatch(kept, /(wrong|invalid|bad|incorrect) key/i);
  }, { faults });
});

test("a cap stops a run before the call that would pass it, and keeps its work", async () => {
  await visit(async ({ provider, page }) => {
    await useEndpoint(page, site, { url: provider.url, model: "fake-large", judge: false });
    await page.getByText("Prices (", { exact: false }).click();
    await page.getByRole("button", { name: "Add a price" }).click();
    const row = page.locator(".prices tbody tr").first();
    await row.getByLabel("Input price", { exact: false }).fill("100");
    await row.getByLabel("Input price", { exact: false }).blur();
    await page.locator(".prices tbody tr").first().getByLabel("Output price", { exact: false }).fill("100");
    await page.locator(".prices tbody tr").first().getByLabel("Output price", { exact: false }).blur();
    await page.locator("#cap").fill("0.6");
    await page.locator("#cap").blur();
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    assert.match(await page.locator(".inst-status").innerText(), /within the budget/i);
    assert.ok(provider.calls.length >= 1, "calls that fit were made");
    await page.goto(`${site.url}#/settings`);
    const table = await page.locator("section", { hasText: "Spending" }).first().innerText();
    assert.match(table, /agent\s+fake-large/);
    assert.match(table, /\$0\.\d{4}/);
  });
});

test("a run by hand: the prompt is shown, the pasted answer drives the pipeline", async () => {
  await visit(async ({ provider, page, faults }) => {
    await page.goto(`${site.url}#/settings`);
    await page.getByText("By hand", { exact: true }).click();
    await openInstance(page, site, TEXT_INSTANCE);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    for (let n = 0; n < 12; n += 1) {
      const dialog = page.getByRole("dialog", { name: "Answer by hand" });
      const done = page.getByRole("button", { name: "Run again", exact: true });
      await dialog.or(done).first().waitFor({ timeout: 60_000 });
      if (await done.isVisible() && !(await dialog.isVisible())) break;
      const prompt = await dialog.locator("pre").innerText();
      await dialog.getByLabel("Its answer").fill(answer({ messages: [{ content: prompt }] }));
      await dialog.getByRole("button", { name: "Use this answer" }).click();
      await page.waitForTimeout(300);
    }
    assert.match(await page.locator(".inst-status").innerText(), /Done by/);
    assert.equal(provider.calls.length, 0, "no network");
    noFaults(faults);
  });
});

test("a replay asks nobody and comes to the same output", async () => {
  await visit(async ({ provider, page }) => {
    await useEndpoint(page, site, { url: provider.url });
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    const before = await verdicts(page);
    const asked = provider.calls.length;
    await page.getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByText(/Done by .* came from the journal/).waitFor();
    await page.getByRole("button", { name: "Run again", exact: true }).waitFor();
    assert.equal(provider.calls.length, asked, "no network");
    assert.deepEqual((await verdicts(page)).map((v) => v.state), before.map((v) => v.state));
  });
});

test("a full disk degrades to memory with a warning, and the backup holds every call", async () => {
  await visit(async ({ provider, page, context }) => {
    await context.addInitScript(() => {
      const put = IDBObjectStore.prototype.put;
      IDBObjectStore.prototype.put = function (...given) {
        if (["runs", "journal"].includes(this.name)) throw new DOMException("The quota has been exceeded.", "QuotaExceededError");
        return put.apply(this, given);
      };
    });
    await useEndpoint(page, site, { url: provider.url });
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    await page.getByText(/will not survive closing this tab/).first().waitFor();
    assert.ok((await verdicts(page)).every((verdict) => verdict.state !== "unscored"));
    await page.goto(`${site.url}#/settings`);
    const saved = await download(page, () => page.getByRole("button", { name: "Download backup" }).click());
    const backup = JSON.parse(saved.bytes.toString());
    assert.equal(Object.keys(backup.journal).length, provider.calls.length);
    assert.equal(Object.keys(backup.runs).length, 1);
    assert.ok(!saved.bytes.toString().includes(KEY));
    // Another browser takes it in.
    const other = await openPage(browser);
    await other.page.goto(`${site.url}#/settings`);
    const [picker] = await Promise.all([
      other.page.waitForEvent("filechooser"),
      other.page.getByRole("button", { name: /Restore backup/ }).click(),
    ]);
    await picker.setFiles({ name: "backup.json", mimeType: "application/json", buffer: saved.bytes });
    await other.page.getByText(/1 run taken from/).waitFor();
    await other.context.close();
  });
});

test("a key that got into a text is taken out of every file", async () => {
  const leaky = (body) => {
    const text = answer(body);
    return text.startsWith("# A short") ? `A text that quotes ${KEY} by mistake.` : text;
  };
  await visit(async ({ provider, page }) => {
    await useEndpoint(page, site, { url: provider.url, judge: false });
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    const saved = await download(page, () => page.getByRole("button", { name: "JSON", exact: true }).click());
    assert.ok(!saved.bytes.toString().includes(KEY));
    assert.match(saved.bytes.toString(), /quotes \[key\] by mistake/);
    await page.getByText(/was replaced by \[key\]/).first().waitFor();
  }, { answer: leaky });
});

test("a list runs by batch files, round by round", async () => {
  await visit(async ({ provider, page }) => {
    await useEndpoint(page, site, { url: "https://api.openai.com/v1", model: "gpt-4.1-mini", judge: false });
    await page.goto(`${site.url}#/instances?q=announcement`);
    await page.getByRole("button", { name: /By batch file/ }).click();
    const dialog = page.getByRole("dialog", { name: /batch file/ });
    const first = await download(page, () => dialog.getByRole("button", { name: /Write a file/ }).click());
    let requests = first.bytes.toString().trim().split("\n").map((line) => JSON.parse(line));
    assert.ok(requests.length >= 1);
    assert.equal(requests[0].url, "/v1/chat/completions");
    for (let round = 0; round < 10; round += 1) {
      const results = requests.map(({ custom_id, body }) => JSON.stringify({ custom_id, error: null, response: { status_code: 200,
        body: { model: body.model, choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: answer(body) } }], usage: { prompt_tokens: 9, completion_tokens: 3 } } } })).join("\n");
      const [picker] = await Promise.all([page.waitForEvent("filechooser"), dialog.getByRole("button", { name: /Read a file of results/ }).click()]);
      const next = page.waitForEvent("download", { timeout: 60_000 }).catch(() => null);
      await picker.setFiles({ name: "results.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(results) });
      const finished = dialog.getByText(/need no further answer/).waitFor({ timeout: 60_000 }).then(() => null);
      const saved = await Promise.race([next, finished]);
      if (!saved) break;
      requests = (await fs.readFile(await saved.path(), "utf8")).trim().split("\n").map((line) => JSON.parse(line));
    }
    await dialog.getByText(/need no further answer/).waitFor();
    assert.equal(provider.calls.length, 0);
  });
});

test("the code of a sign-in leaves the address at once, and a stranger's is not used", async () => {
  await visit(async ({ page }) => {
    const [base] = site.url.split("#");
    await page.goto(`${base}?signin=unknown&code=secret-code-1`);
    await page.getByText(/was not begun in this tab/).waitFor();
    assert.ok(!page.url().includes("secret-code-1"), page.url());
    assert.ok(!(await everythingStored(page)).includes("secret-code-1"));
  });
});
