// What browsers lack, delete or mix up (cases B45, X26, X27, X29, X42): the site works on, and says so.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { CALL_INSTANCE, download, noFaults, openInstance, run, verdicts } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

/** Storage as a private window of some browsers has it: each way to it throws. */
function withoutStorage() {
  const refuse = () => { throw new DOMException("The operation is insecure.", "SecurityError"); };
  Object.defineProperty(navigator, "storage", { value: undefined });
  for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"]) Object.defineProperty(window, name, { get: refuse });
}

test("without any storage a run goes through, with one notice (X27)", async () => {
  const { context, page, faults } = await openPage(browser, { serviceWorkers: "block" });
  await page.addInitScript(withoutStorage);
  await openInstance(page, site, CALL_INSTANCE);
  await run(page);
  assert.equal((await verdicts(page)).length, 3);
  const notice = page.getByText("Runs will not survive closing this tab", { exact: false });
  assert.equal(await notice.count(), 1);
  noFaults(faults);
  await context.close();
});

test("nothing needs an isolated page or shared memory (X29)", async () => {
  const { context, page, faults } = await openPage(browser);
  await page.addInitScript(() => { delete globalThis.SharedArrayBuffer; });
  await openInstance(page, site, CALL_INSTANCE);
  assert.deepEqual(await page.evaluate(() => [crossOriginIsolated, typeof SharedArrayBuffer]), [false, "undefined"]);
  await run(page);
  assert.equal((await verdicts(page)).length, 3);
  noFaults(faults);
  await context.close();
});

test("of the engine's programs the browser gets the one that fits it", async () => {
  const programs = () => site.log.map((entry) => entry.path).filter((name) => /^(worker|relaxed)_bg\.wasm$/.test(name));
  const visit = async (before) => {
    site.log.length = 0;
    const { context, page, faults } = await openPage(browser, { serviceWorkers: "block" });
    if (before) await page.addInitScript(before);
    await openInstance(page, site, CALL_INSTANCE);
    await run(page);
    assert.equal((await verdicts(page)).length, 3);
    await context.close();
    return faults;
  };
  noFaults(await visit());
  assert.deepEqual([...new Set(programs())], ["relaxed_bg.wasm"], "Chromium has relaxed SIMD");
  // Without the instruction 0xfd 0x113 a module that has it is not valid.
  noFaults(await visit(() => {
    const real = WebAssembly.validate.bind(WebAssembly);
    WebAssembly.validate = (bytes) => !new Uint8Array(bytes).join().includes("253,147,2") && real(bytes);
  }));
  assert.deepEqual([...new Set(programs())], ["worker_bg.wasm"], "a browser without it");
  // Half of a release that lacks the new file, or a browser that has the instruction and fails at it.
  site.overrides["relaxed_bg.wasm"] = (request, response, send) => send(404, "not found");
  try {
    await visit();
    assert.deepEqual([...new Set(programs())].sort(), ["relaxed_bg.wasm", "worker_bg.wasm"], "the plain one stands in");
  } finally { delete site.overrides["relaxed_bg.wasm"]; }
});

test("runs that the browser deleted come back from their file (X26), which stays to be fetched (X42)", async () => {
  const { context, page, faults } = await openPage(browser);
  await page.addInitScript(() => {
    globalThis.revoked = [];
    const revoke = URL.revokeObjectURL;
    URL.revokeObjectURL = (url) => { globalThis.revoked.push(url); revoke.call(URL, url); };
  });
  await openInstance(page, site, CALL_INSTANCE);
  await run(page);
  const before = await verdicts(page);
  const saved = await download(page, () => page.getByRole("button", { name: "JSON, gzip'd" }).click());
  await page.waitForTimeout(1000);
  assert.deepEqual(await page.evaluate(() => globalThis.revoked), [], "the file's address outlives the click");
  // What a browser does to a site that was not visited for a while.
  await page.goto("about:blank");
  const other = await openPage(browser);
  await other.page.goto(`${site.url}#/results`);
  await other.page.getByRole("heading", { level: 1, name: /Results/ }).waitFor();
  assert.equal(await other.page.getByRole("alert").count(), 0, "an empty store is nothing to complain of");
  const [chooser] = await Promise.all([
    other.page.waitForEvent("filechooser"),
    other.page.getByRole("button", { name: /Open/ }).first().click(),
  ]);
  await chooser.setFiles({ name: saved.name, mimeType: "application/gzip", buffer: saved.bytes });
  await other.page.getByRole("main").getByRole("button", { name: "Runs", exact: true }).click();
  await other.page.getByRole("link", { name: "food_ordering-a" }).first().click();
  await other.page.locator("li.verdict").first().waitFor();
  assert.deepEqual(await verdicts(other.page), before);
  noFaults([...faults, ...other.faults]);
  await context.close();
  await other.context.close();
});

test("halves of two releases: one reload past the cache, then a sentence (B45)", async () => {
  const names = await fs.readdir(root);
  const program = names.find((name) => /^app-.*_bg\.wasm$/.test(name));
  // A module that imports what the other half does not have.
  const stranger = Buffer.from("0061736d01000000010401600000020701016101620000", "hex");
  let asked = 0, until = 1;
  const right = await fs.readFile(path.join(root, program));
  const stale = await serveSite({ root, overrides: { [program]: (request, response, send) => {
    asked += 1;
    send(200, asked <= until ? stranger : right, { "content-type": "application/wasm" });
  } } });
  const first = await openPage(browser, { serviceWorkers: "block" });
  await first.page.goto(stale.url);
  await first.page.getByText("Try one instance").waitFor();
  assert.ok(asked >= 2, "loaded again by itself");
  await first.context.close();
  [asked, until] = [0, Infinity];
  const second = await openPage(browser, { serviceWorkers: "block" });
  await second.page.goto(stale.url);
  const crashed = second.page.locator("#crashed-text");
  await crashed.filter({ hasText: /could not be started/ }).waitFor();
  const count = asked;
  await second.page.waitForTimeout(1500);
  assert.equal(asked, count, "it does not reload for ever");
  await second.context.close();
  await stale.close();
});
