// The built site, in Chromium, against a real model server: list of models, test, then one instance
// from task to verdicts by IBA-Agent in fixed order and by function calling, and by standard
// RAG, judged by the same model. A small model answers badly; what counts is that every end is an honest one.
// node page.mjs BASE_URL [FOLDER], with IBA_LAB_DIST; result files go to FOLDER. With IBA_LAB_PYTHON
// Inspect's own package opens them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { launch, openPage } from "../e2e/support/browser.mjs";
import { serveSite } from "../e2e/support/site.mjs";
import { TEXT_INSTANCE, download, openInstance, steps, useEndpoint, verdicts } from "../e2e/support/steps.mjs";

const [url, given] = process.argv.slice(2);
const folder = given ?? await fs.mkdtemp(path.join(os.tmpdir(), "real-"));
await fs.mkdir(folder, { recursive: true });
const MINUTES = 60_000;
// Small, so that a processor answers within minutes.
const PARAMS = { max_output_tokens: 400, top_k: 1, max_queries: 3, max_passages: 4, chunk_tokens: 256, max_steps: 6 };

const INSPECT = `
import sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
sample = log.samples[0]
print(log.status, log.eval.solver, len(sample.events), sorted(sample.scores or {}), (sample.error.message if sample.error else "no error"))
`;

const browser = await launch();
const site = await serveSite({ root: process.env.IBA_LAB_DIST });
const { page, faults } = await openPage(browser);
page.setDefaultTimeout(3 * MINUTES);

async function run(system) {
  const started = Date.now();
  await openInstance(page, site, `${TEXT_INSTANCE}?system=${system}`);
  await page.getByRole("button", { name: /^Run( again)?$/ }).click();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 45 * MINUTES });
  const status = await page.locator(".inst-status").innerText();
  const judged = await verdicts(page);
  console.log(`${system}: ${((Date.now() - started) / 1000).toFixed(0)} s, ${status}`);
  console.log(`  steps: ${(await steps(page)).join(", ")}`);
  for (const { state, why } of judged) console.log(`  ${state}: ${why.slice(0, 160)}`);
  // Done, or a sentence that says what happened and what to do; never a silent stop.
  assert.match(status, /^Done|asked twice|trace is kept|cut off|could not be/, status);
  const done = status.startsWith("Done");
  if (done) assert.ok(judged.length > 0 && judged.every(({ state }) => ["met", "not-met", "not_met", "unscored"].includes(state)), JSON.stringify(judged));
  await page.screenshot({ path: path.join(folder, `${system}.png`), fullPage: true });
  const saved = await download(page, () => page.getByRole("button", { name: "JSON", exact: true }).click());
  const file = path.join(folder, `${system}.json`);
  await fs.writeFile(file, saved.bytes);
  if (process.env.IBA_LAB_PYTHON) {
    console.log("  Inspect:", execFileSync(process.env.IBA_LAB_PYTHON, ["-c", INSPECT, file]).toString().trim());
  }
}

try {
  await useEndpoint(page, site, { url, model: "any", judge: true });
  await page.getByRole("button", { name: "List models" }).first().click();
  await page.getByRole("button", { name: /found/ }).waitFor();
  await page.getByRole("button", { name: "Test", exact: true }).first().click();
  await page.getByText(/answered in/).waitFor();
  console.log(await page.locator(".answer.good").innerText());
  for (const [name, value] of Object.entries(PARAMS)) {
    await page.locator(`#param-${name}`).fill(String(value));
    await page.locator(`#param-${name}`).blur();
  }
  await run("iba_agent");
  await run("iba_agent_fc");
  // One stage, so that even this model comes to an output and to verdicts.
  await run("standard_rag");
  assert.deepEqual(faults, []);
  console.log(`result files in ${folder}`);
} finally {
  await browser.close();
  await site.close();
}
process.exit(0);
