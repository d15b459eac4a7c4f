// A stranger without a key: from the start page to judged requirements and a file for Inspect.
import test from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import zlib from "node:zlib";
import fs from "node:fs/promises";
import path from "node:path";
import os from "node:os";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { CALL_INSTANCE, TEXT_INSTANCE, download, noFaults, openInstance, run, verdicts } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

const STAGES = ["Query expansion", "Similarity retrieval", "Redundancy filtering", "Salience re-ranking", "Compact evidence",
  "Preference extraction", "Task-preference alignment"];

test("from the start page to verdicts with reasons, for a call", async () => {
  const { context, page, faults } = await openPage(browser);
  await page.goto(site.url);
  await page.getByText("Try one instance").waitFor();
  await page.getByText("110", { exact: true }).waitFor();
  await openInstance(page, site, CALL_INSTANCE);
  await run(page);
  const judged = await verdicts(page);
  assert.equal(judged.length, 3);
  for (const verdict of judged) {
    assert.match(verdict.state, /^(met|not-met|not_met|unmet)$/, "a slot is always decided");
    assert.ok(verdict.why.trim().length > 10, "a reason is given");
  }
  for (const stage of STAGES) assert.ok(await page.getByText(stage, { exact: false }).first().isVisible(), stage);
  noFaults(faults);
  await context.close();
});

test("a text instance: checks decide, the rest says what would help", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, TEXT_INSTANCE);
  await run(page);
  const judged = await verdicts(page);
  assert.ok(judged.length >= 2);
  for (const verdict of judged) assert.ok(verdict.why.trim().length > 10, `reason for ${verdict.state}`);
  assert.ok(judged.some((verdict) => verdict.state === "unscored" && /model/.test(verdict.why)), "unscored says a model would help");
  noFaults(faults);
  await context.close();
});

test("the exported file opens in Inspect and opens again here", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  await run(page);
  const before = await verdicts(page);
  const saved = await download(page, () => page.getByRole("button", { name: "JSON, gzip'd" }).click());
  assert.match(saved.name, /\.json\.gz$/);
  const log = JSON.parse(zlib.gunzipSync(saved.bytes).toString().replace(/\bNaN\b/g, "null"));
  assert.equal(log.version, 2);
  assert.equal(log.samples.length, 1);
  const plain = await download(page, () => page.getByRole("button", { name: "JSON", exact: true }).click());
  if (process.env.IBA_LAB_PYTHON) {
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), "iba-lab-"));
    const file = path.join(folder, plain.name);
    await fs.writeFile(file, plain.bytes);
    const script = `import sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
sample = log.samples[0]
score = next(iter(sample.scores.values()))
print(log.status, sample.id, sample.epoch, len(score.value), len(sample.events))`;
    const { stdout } = await promisify(execFile)(process.env.IBA_LAB_PYTHON, ["-c", script, file]);
    const [status, id, epoch, scored, events] = stdout.trim().split(" ");
    assert.deepEqual([status, id, epoch], ["success", "food_ordering-a", "1"]);
    assert.equal(Number(scored), before.length);
    assert.ok(Number(events) > 8, "stages are there as events");
  }
  // A colleague opens the file in another browser.
  const other = await openPage(browser);
  await other.page.goto(site.url);
  const [chooser] = await Promise.all([other.page.waitForEvent("filechooser"), other.page.getByRole("button", { name: /Open a result file/ }).click()]);
  await chooser.setFiles({ name: saved.name, mimeType: "application/gzip", buffer: saved.bytes });
  await other.page.waitForURL(/#\/results/);
  await other.page.getByRole("main").getByRole("button", { name: "Runs", exact: true }).click();
  await other.page.getByText("food_ordering-a").first().waitFor();
  noFaults([...faults, ...other.faults]);
  await context.close();
  await other.context.close();
});

test("standard RAG runs from a link that names the system", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, `${CALL_INSTANCE}?system=standard_rag`);
  assert.equal(await page.getByLabel("System", { exact: true }).inputValue(), "standard_rag");
  await run(page);
  assert.equal((await verdicts(page)).length, 3);
  noFaults(faults);
  await context.close();
});

test("from one instance to the next and back, before and after a run", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("heading", { level: 1, name: "Food ordering" }).waitFor();
  await openInstance(page, site, TEXT_INSTANCE);
  await page.getByRole("heading", { level: 1, name: "Announcement drafting" }).waitFor();
  await run(page);
  await page.goto(site.url + CALL_INSTANCE);
  await page.getByRole("heading", { level: 1, name: "Food ordering" }).waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor();
  await page.goto(`${site.url}#/instances`);
  await page.getByText("110 instances").waitFor();
  noFaults(faults);
  await context.close();
});

test("a second visit loads nothing twice, and a third needs no network", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  await run(page);
  site.log.length = 0;
  await page.reload();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
  await run(page);
  const again = site.log.filter((entry) => /\.(onnx|gz|bin)$|tokenizer\.json$/.test(entry.path));
  assert.deepEqual(again, [], "model, shards and vectors come from the cache");
  await context.setOffline(true);
  await page.reload();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
  await run(page);
  noFaults(faults);
  await context.close();
});

test("the page weighs at most 500 kB before it reacts", async () => {
  const { context, page } = await openPage(browser);
  // Only the first view's parts arrive; what opens the dataset may come as late as it likes.
  const names = await fs.readdir(root);
  const script = await fs.readFile(path.join(root, names.find((name) => /^split-.*\.js$/.test(name))), "utf8");
  const [, deps] = /__wasm_split_load_home = [^[]*\[([^\]]*)\]/.exec(script);
  const first = [...deps.matchAll(/__(chunk_\d+)/g)].map(([, name]) => `${name}-`).concat("split_home-");
  let release;
  const reacted = new Promise((done) => { release = done; });
  const late = names.filter((name) => /^(chunk|split)_.*\.wasm$/.test(name) && !first.some((start) => name.startsWith(start)));
  for (const name of late) {
    site.overrides[name] = async (request, response, send) => {
      await reacted;
      send(200, await fs.readFile(path.join(root, name)), { "content-type": "application/wasm" });
    };
  }
  site.log.length = 0;
  await page.goto(site.url);
  await page.getByRole("button", { name: /Open a result file/ }).waitFor();
  await page.getByRole("link", { name: "About", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).filter({ hasText: /About|IBA Lab/ }).waitFor();
  // Whatever was asked for until then, but for the engine, its model and the datasets.
  const own = site.log.filter((entry) => !/^(worker|datasets\/|models\/|examples\/)/.test(entry.path));
  const weight = own.reduce((sum, entry) => sum + entry.bytes, 0);
  console.log(`page: ${weight} bytes compressed in ${own.length} files`);
  assert.ok(late.length > 2 && own.some((entry) => /^app-.*_bg\.wasm$/.test(entry.path)) && weight > 50_000, "the files were counted");
  release();
  await page.getByRole("link", { name: "Instances", exact: true }).click();
  await page.getByText("110 instances").waitFor();
  for (const name of late) delete site.overrides[name];
  assert.ok(weight <= 500_000, `${weight} bytes: ${own.map((entry) => `${entry.path} ${entry.bytes}`).join(", ")}`);
  await context.close();
});
