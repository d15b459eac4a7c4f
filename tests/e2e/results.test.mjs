// What many runs show: the funnel of lost requirements, judges against each other and against
// labels, another program's outputs, and verdicts changed by hand.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { startProvider } from "./support/provider.mjs";
import { answer } from "./support/answers.mjs";
import { TEXT_INSTANCE, download, noFaults, openInstance, run, useEndpoint, verdicts } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

/** Opens a recorded run that ships with the site: IBA-Agent by the embedded baseline on some instances of every domain. */
async function openRecorded(page) {
  await page.goto(`${site.url}#/results`);
  const file = path.join(root, "examples", "recorded-iba_agent.json.gz");
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Open a result file" }).click()]);
  await chooser.setFiles(file);
  await page.locator(".opened-file").waitFor({ timeout: 30_000 });
}

const numbers = (cells) => cells.map((text) => Number(text.match(/\d+/)?.[0] ?? 0));

test("the funnel of a result file adds up, and each number leads to its requirements", async () => {
  const { context, page, faults } = await openPage(browser);
  await openRecorded(page);
  await page.getByRole("button", { name: "Where lost" }).click();
  assert.match(page.url(), /part=lost/);
  const rows = await page.locator(".lost-table tbody tr").evaluateAll((rows) => rows.map((row) =>
    [row.querySelector("th").firstChild.textContent.trim(), [...row.querySelectorAll("td")].map((cell) => (cell.querySelector("button") ?? cell).textContent)]));
  const [[, scored], ...ends] = rows;
  const total = numbers(scored);
  assert.ok(total[0] > 20, `${total[0]} scored`);
  for (const [column, all] of total.entries()) {
    const sum = ends.reduce((sum, [, cells]) => sum + numbers(cells)[column], 0);
    assert.equal(sum, all, `column ${column}`);
  }
  assert.equal(total.slice(1).reduce((a, b) => a + b), total[0], "every requirement is in one domain");
  assert.match(await page.locator(".lost-table caption").innerText(), /Place of loss known for \d+ of \d+ not met/);
  const picture = await page.locator(".chart-picture svg.funnel desc").textContent();
  assert.match(picture, new RegExp(`^Of ${total[0]} scored requirements`));

  const cell = page.locator(".lost-table button").nth(1);
  const wanted = Number(await cell.innerText());
  await cell.focus();
  await page.keyboard.press("Enter");
  await page.locator("#lost-cell").waitFor();
  assert.equal(await page.locator("#lost-cell + ul > li").count(), Math.min(wanted, 50));
  const link = page.url();
  assert.match(link, /end=/);
  await page.getByLabel("by domain").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(page.url(), /by=signal/);
  const saved = await download(page, () => page.getByRole("button", { name: "Save table (.csv)" }).last().click());
  assert.match(saved.bytes.toString(), /^\uFEFFend,known,all,/);
  noFaults(faults);
  await context.close();
});

test("rows say what they were made with, stand beside a whole table of the paper, and fit a small screen", async () => {
  const { context, page, faults } = await openPage(browser, { viewport: { width: 360, height: 800 } });
  await openRecorded(page);
  const rows = page.locator("table.domains tbody tr");
  assert.match(await rows.first().innerText(), /retriever all-minilm-l6-v2/);
  const own = await rows.count();
  await page.getByLabel("Compare with rows of the paper").selectOption("table10/*");
  assert.equal(await rows.count(), own + 4);
  assert.match(await rows.last().innerText(), /Table 10[\s\S]*retriever all-mpnet-base-v2/);
  assert.match(decodeURIComponent(page.url()), /table10\/rag__gpt_4o\b/, "the rows are in the address");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  noFaults(faults);
  await context.close();
});

test("two judges, three repeats: each is recorded, and their disagreement is counted", async () => {
  const shown = [];
  // The strict judge says no to everything, the other yes to everything.
  const judging = (body) => {
    const prompt = body.messages.map((message) => message.content).join("\n");
    if (!/strict examiner/.test(prompt)) return answer(body);
    const criteria = [...prompt.matchAll(/^(R\d+): (.*)$/gm)];
    shown.push({ model: body.model, order: criteria.map(([, , text]) => text).join("|"), zeroFirst: prompt.indexOf("- 0:") < prompt.indexOf("- 1:") });
    const verdict = body.model === "fake-small" ? 0 : 1;
    return JSON.stringify({ verdicts: criteria.map(([, id]) => ({ id, quote: "", rationale: `said by ${body.model}`, verdict })) });
  };
  const provider = await startProvider({ answer: judging });
  const { context, page, faults } = await openPage(browser);
  await useEndpoint(page, site, { url: provider.url });
  await page.locator("#judge-repeats").fill("3");
  await page.locator("#judge-repeats").blur();
  await page.getByRole("button", { name: "Add another judge" }).click();
  await page.locator("#judge-2-url").fill(provider.url);
  await page.locator("#judge-2-url").blur();
  await page.locator("#judge-2-model").fill("fake-small");
  await page.locator("#judge-2-model").blur();
  await page.getByText("4 judge calls for each output").waitFor();
  await openInstance(page, site, TEXT_INSTANCE);
  await run(page);
  assert.equal(shown.length, 4);
  assert.equal(new Set(shown.filter((one) => one.model === "fake-large").map((one) => one.zeroFirst)).size, 2, "both orders of the verdicts");
  assert.ok(await page.getByText("judges disagree").count() > 0);
  assert.ok(await page.getByText("The verdicts disagree: one finds it in the output, another does not.").count() > 0);

  await page.goto(`${site.url}#/results?part=judges`);
  const table = page.getByRole("region", { name: "Judges", exact: true });
  await table.getByText("fake-small").first().waitFor();
  const agreement = page.getByRole("region", { name: "Agreement between judges" });
  assert.match(await agreement.innerText(), /fake-large and fake-small[\s\S]*0\.0 %/);
  noFaults(faults);
  await context.close();
  await provider.close();
});

test("a verdict is changed by hand with name and reason, and taken back; the history keeps both", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, TEXT_INSTANCE);
  await run(page);
  const before = await verdicts(page);
  const item = page.locator("li.verdict").first();
  await item.getByRole("button", { name: "Change the verdict" }).click();
  await item.getByRole("button", { name: "Save the verdict" }).click();
  assert.match(await item.getByRole("alert").innerText(), /who you are/);
  await item.getByRole("radio", { name: before[0].state === "met" ? "not met" : "met", exact: true }).check();
  await item.getByLabel("Your name").fill("Ada");
  await item.getByLabel("Why").fill("It says so in line 2.");
  await item.getByRole("button", { name: "Save the verdict" }).click();
  await item.getByText("changed by hand").waitFor();
  assert.notEqual((await verdicts(page))[0].state, before[0].state);
  const saved = await download(page, () => page.getByRole("button", { name: "JSON", exact: true }).click());
  const log = JSON.parse(saved.bytes.toString().replaceAll("NaN", "null"));
  const [score] = Object.values(log.samples[0].scores);
  assert.equal(score.history.length, 2);
  assert.equal(score.history[1].provenance.author, "Ada");
  assert.equal(score.history[1].provenance.reason, "It says so in line 2.");
  await page.reload();
  const again = page.locator("li.verdict").first();
  await again.getByText("changed by hand").waitFor({ timeout: 60_000 });
  await again.getByRole("button", { name: /Take Ada.s verdict back/ }).click();
  await again.getByText("changed by hand").waitFor({ state: "detached" });
  assert.equal((await verdicts(page))[0].state, before[0].state);
  assert.equal(await again.locator(".opinion-list > li").count(), 2, "both changes stay in the history");
  noFaults(faults);
  await context.close();
});

test("another program's outputs are judged, and bad lines are named", async () => {
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/instances`);
  await page.locator(".list-side").waitFor({ timeout: 60_000 });
  const file = path.join(await fs.mkdtemp(path.join(os.tmpdir(), "iba-")), "nanobot.jsonl");
  await fs.writeFile(file, [
    JSON.stringify({ instance: "food_ordering-a", output: { cuisine_type: "western" } }),
    JSON.stringify({ instance: "moon-a", output: "x" }),
    "{ broken",
    JSON.stringify({ instance: "announcement_drafting-a", output: "An announcement." }),
  ].join("\n"));
  await page.goto(`${site.url}#/results`);
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Open a result file" }).click()]);
  await chooser.setFiles(file);
  const dialog = page.getByRole("dialog", { name: "Judge another program’s outputs" });
  await dialog.getByText("2 outputs read, 2 lines could not be used").waitFor();
  assert.match(await dialog.innerText(), /Line 2 the open dataset has no instance "moon-a"/);
  assert.match(await dialog.innerText(), /Line 3 is not JSON/);
  await dialog.getByRole("button", { name: "Judge 2 outputs" }).click();
  await page.getByText(/Judging 2 outputs of nanobot.jsonl: ended at 2 of 2/).waitFor({ timeout: 60_000 });
  const row = page.locator("table.domains tbody tr", { hasText: "Imported" });
  assert.match(await row.innerText(), /nanobot/);
  assert.equal(await row.count(), 1);
  noFaults(faults);
  await context.close();
});

test("a judge is calibrated on labelled samples, and nothing is asked twice", async () => {
  const provider = await startProvider({ answer });
  const { context, page, faults } = await openPage(browser);
  await useEndpoint(page, site, { url: provider.url });
  await page.goto(`${site.url}#/results?part=judges`);
  const start = page.getByRole("button", { name: /Calibrate on \d+ samples/ });
  await start.click({ timeout: 60_000 });
  await page.getByText(/labelled samples: ended at (\d+) of \1/).waitFor({ timeout: 120_000 });
  const samples = provider.calls.length;
  assert.ok(samples > 50, `${samples} calls`);
  const table = page.getByRole("region", { name: "Judges against labels" });
  const cells = await table.locator("tbody tr").first().locator("td").allInnerTexts();
  assert.equal(Number(cells[1]), samples);
  assert.match(cells[5], /%/);
  await page.getByRole("button", { name: "Close" }).click();
  await start.click();
  await page.getByText(/labelled samples: ended at (\d+) of \1/).waitFor({ timeout: 120_000 });
  assert.equal(provider.calls.length, samples, "answers come from the journal");
  noFaults(faults);
  await context.close();
  await provider.close();
});

test("all instances of a filtered list are run; paused, gone on with, and not run twice", async () => {
  const { context, page, faults } = await openPage(browser);
  await page.goto(`${site.url}#/instances?domain=leisure_activities`);
  const button = page.getByRole("button", { name: /^Run all \d+/ });
  await button.waitFor({ timeout: 60_000 });
  const n = Number((await button.innerText()).match(/\d+/)[0]);
  await button.click();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText(/paused at/).waitFor();
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText(new RegExp(`ended at ${n} of ${n}`)).waitFor({ timeout: 300_000 });
  await page.getByText("All of these are done").waitFor();
  await page.goto(`${site.url}#/results?part=lost`);
  const scored = await page.locator(".lost-table tbody tr").first().locator("td").first().innerText();
  assert.ok(Number(scored) > 0);
  noFaults(faults);
  await context.close();
});
