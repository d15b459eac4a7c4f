// What can go wrong with the engine and with embedding models in a browser: each fault is a sentence
// that says what to do, and the page goes on.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { drop } from "./support/drop.mjs";
import { lookAtModel, serveModel, takeModel } from "./support/models.mjs";
import { CALL_INSTANCE, TEXT_INSTANCE, everythingStored, noFaults, openInstance, run, verdicts } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const MODELS = path.join(path.dirname(fileURLToPath(import.meta.url)), "../data/models");
const TINY = path.join(MODELS, "xlmr-int8");
const PATIENCE = 120_000;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

const look = (page, url) => lookAtModel(page, site, url);

/** The engine's programs; which one a page takes is the browser's matter. */
const PROGRAMS = ["worker_bg.wasm", "relaxed_bg.wasm"];

/** A program of the engine, with at most so many bytes of memory: the section of memories says it. */
async function withMemory(program, bytes) {
  const file = await fs.readFile(path.join(root, program));
  const number = (at) => { let value = 0, shift = 0, byte; do { byte = file[at++]; value |= (byte & 0x7f) << shift; shift += 7; } while (byte & 0x80); return [value, at]; };
  const varint = (value) => { const out = []; do { out.push((value & 0x7f) | (value > 0x7f ? 0x80 : 0)); value >>>= 7; } while (value); return out; };
  for (let at = 8; at < file.length;) {
    const [size, start] = number(at + 1);
    if (file[at] === 5) {
      const [least] = number(start + 2);
      const limits = [1, 1, ...varint(least), ...varint(Math.max(least, Math.floor(bytes / 65536)))];
      return Buffer.concat([file.subarray(0, at), Buffer.from([5, ...varint(limits.length), ...limits]), file.subarray(start + size)]);
    }
    at = start + size;
  }
  throw new Error("the engine has no memory of its own");
}

test("no space left: it is said before anything is fetched, and goes on once there is some", async () => {
  const host = await serveModel(TINY);
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/settings`);
  const session = await context.newCDPSession(page);
  const { origin } = new URL(site.url);
  await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 6_000 });
  await look(page, host.url);
  assert.match(await takeModel(page), /this browser leaves .* for this site: delete models|There is no space left in this browser's storage[^]*Delete models that are not needed/);
  assert.ok(!host.log.some((entry) => entry.method === "GET" && entry.name.endsWith(".onnx")), "nothing was fetched");
  await session.send("Storage.overrideQuotaForOrigin", { origin });
  await look(page, host.url);
  assert.equal(await takeModel(page), "");
  noFaults(faults);
  await context.close();
  await host.close();
});

test("without the private file system the file cache keeps a model, without either it is said why", async () => {
  const host = await serveModel(TINY);
  const { context, page, faults } = await openPage(browser);
  await page.addInitScript(() => { StorageManager.prototype.getDirectory = () => Promise.reject(new DOMException("not here", "SecurityError")); });
  await look(page, host.url);
  assert.equal(await takeModel(page), "");
  const kept = await page.evaluate(async () => (await (await caches.open("iba-lab-models-1")).keys()).map((request) => request.url));
  assert.ok(kept.length >= 3, `graph, tokenizer and record: ${kept}`);
  assert.match(await page.locator(".kept-model").innerText(), /in the file cache of this browser/);
  noFaults(faults);
  await page.addInitScript(() => { Object.defineProperty(globalThis, "caches", { value: undefined }); });
  await page.reload();
  await look(page, host.url);
  assert.match(await takeModel(page), /keeps none for this page, as in private windows/);
  await openInstance(page, site, CALL_INSTANCE);
  await run(page, PATIENCE);
  assert.ok((await verdicts(page)).length > 0, "a run needs no storage");
  noFaults(faults);
  await context.close();
  await host.close();
});

test("an engine that gets no memory says so; words go on, and so does a new engine", async () => {
  const { context, page } = await openPage(browser);
  for (const program of PROGRAMS) {
    const small = await withMemory(program, 20e6);
    site.overrides[program] = (request, response, send) => send(200, small, { "content-type": "application/wasm" });
  }
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const offer = page.locator(".inst-offer");
  await offer.getByText(/no more memory from this browser/).waitFor({ timeout: PATIENCE });
  assert.match(await offer.innerText(), /Close other tabs or choose a smaller embedding model/);
  for (const program of PROGRAMS) delete site.overrides[program];
  await offer.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: PATIENCE });
  assert.match(await everythingStored(page), /all-minilm-l6-v2/);
  await context.close();
});

test("an engine that dies is replaced by a new one", async () => {
  const { context, page } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  await run(page, PATIENCE);
  const [worker] = page.workers();
  await worker.evaluate(() => { setTimeout(() => { throw new Error("struck down"); }); });
  await run(page, PATIENCE);
  assert.ok((await verdicts(page)).length > 0);
  assert.ok(!page.workers().includes(worker), "the dead one is gone");
  await context.close();
});

test("a browser without SIMD is told so by the page itself", async () => {
  const { context, page } = await openPage(browser);
  await page.addInitScript(() => {
    // As such a browser does: it knows WebAssembly, and no vector instruction.
    WebAssembly.validate = () => false;
    const refuse = () => Promise.reject(new WebAssembly.CompileError("Compiling function #1 failed: invalid opcode 0xfd"));
    WebAssembly.compile = WebAssembly.compileStreaming = WebAssembly.instantiate = WebAssembly.instantiateStreaming = refuse;
  });
  await page.goto(site.url);
  await page.getByText(/has no SIMD, which any browser since 2023 has: update it/).waitFor({ timeout: PATIENCE });
  await context.close();
});

test("a model too large is refused by its size; one of another kind by its graph", async () => {
  const large = await serveModel(TINY, { faults: { "model.onnx": { declared: 3e9 } } });
  const other = await serveModel(TINY, { faults: { "model.onnx": { replace: ["MatMul", "MatMux"] } } });
  const { context, page, faults } = await openPage(browser);
  await look(page, large.url);
  assert.match(await page.locator(".found").innerText(), /weights take 3.* GB, and a program in a browser tab can hold 2 GB/);
  assert.ok(await page.locator(".found .primary").isDisabled());
  await look(page, other.url);
  const said = await takeModel(page);
  assert.match(said, /cannot be used as an embedding model here/);
  assert.match(said, /MatMux|MatMulInteger|operator|graph/i);
  assert.ok(await page.locator('input[type=radio][value="shipped"], .options input').first().isChecked(), "the shipped one stays chosen");
  noFaults(faults.filter((fault) => !/Tract|tract/.test(fault)));
  await context.close();
  await large.close();
  await other.close();
});

test("a dropped folder becomes a model; float32 uses it too; a damaged copy gives way to the shipped one", async () => {
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/instances`);
  await page.getByRole("link", { name: "Search all histories" }).waitFor({ timeout: PATIENCE });
  await drop(page, TINY);
  await page.locator(".found").waitFor({ timeout: PATIENCE });
  assert.match(await page.locator(".found").innerText(), /xlmr-int8/);
  assert.equal(await takeModel(page), "");
  assert.match(await page.locator(".kept-model").innerText(), /32 numbers/);

  // By the general engine.
  await page.evaluate(() => {
    const settings = JSON.parse(localStorage.getItem("iba-lab.settings"));
    settings.retriever.arithmetic = "float32";
    localStorage.setItem("iba-lab.settings", JSON.stringify(settings));
  });
  await page.goto("about:blank");
  await openInstance(page, site, CALL_INSTANCE);
  await run(page, PATIENCE);
  assert.match(await everythingStored(page), /exact, float32/);

  // One byte of what is kept changes.
  const changed = await page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("iba-lab-models-1");
    for await (const [name, handle] of folder.entries()) {
      if (!/\.0\.0$/.test(name)) continue;
      const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
      bytes[bytes.length >> 1] ^= 0xff;
      const out = await handle.createWritable();
      await out.write(bytes);
      await out.close();
      return name;
    }
  });
  assert.ok(changed, "the kept graph was found");
  await page.goto("about:blank");
  await openInstance(page, site, TEXT_INSTANCE);
  await run(page, PATIENCE);
  await page.getByText(/The chosen embedding model failed/i).waitFor({ timeout: PATIENCE });
  assert.match(await everythingStored(page), /all-minilm-l6-v2/);
  noFaults(faults);
  await context.close();
});

test("a dropped folder that is no model says what is missing", async () => {
  const { context, page, faults } = await openPage(browser);
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "iba-lab-drop-"));
  const make = async (name, files) => {
    await fs.mkdir(path.join(folder, name));
    for (const [file, from] of Object.entries(files)) await fs.copyFile(path.join(TINY, from), path.join(folder, name, file));
    return path.join(folder, name);
  };
  await page.goto(`${site.url}#/settings`);
  await page.getByText("Add a model", { exact: true }).waitFor({ timeout: PATIENCE });
  await drop(page, await make("weights-only", { "model.onnx": "model.onnx", "config.json": "config.json" }));
  await page.getByText(/weights-only: there is no tokenizer\.json beside the model/i).waitFor({ timeout: PATIENCE });
  await drop(page, await make("tokenizer-only", { "tokenizer.json": "tokenizer.json" }));
  await page.getByText(/tokenizer-only: there is no ONNX file among them/i).waitFor({ timeout: PATIENCE });
  await drop(page, await make("pictures", { "a.png": "config.json" }));
  await page.getByText(/“pictures” was dropped, and nothing in it is known here/).waitFor({ timeout: PATIENCE });
  noFaults(faults);
  await context.close();
  await fs.rm(folder, { recursive: true });
});
