// The ways through an instance: links, "back", double clicks, and addresses that lead nowhere.
import test from "node:test";
import assert from "node:assert/strict";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { CALL_INSTANCE, TEXT_INSTANCE, noFaults, openInstance, run } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

const PHONE = { viewport: { width: 360, height: 740 } };
const hash = (page) => page.evaluate(() => location.hash);

test("the comparison can be reached: the history does not lie over it", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  await run(page);
  await page.locator("#zone-compare .compare-missing button").first().waitFor();
  for (const width of [1280, 1600]) {
    await page.setViewportSize({ width, height: 860 });
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await page.waitForTimeout(100);
    const hit = await page.locator("#zone-compare button:enabled").evaluateAll((buttons) => buttons.map((button) => {
      button.scrollIntoView({ block: "center" });
      const box = button.getBoundingClientRect();
      const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      return [button.textContent.trim(), button === top || button.contains(top)];
    }));
    assert.ok(hit.length > 4, "there are systems to run");
    assert.deepEqual(hit.filter(([, reached]) => !reached), [], `${width} px`);
  }
  noFaults(faults);
  await context.close();
});

test("a double click starts one run, and many runs, and neither is called off", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  await page.getByRole("button", { name: "Run", exact: true }).dblclick();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 120_000 });
  assert.match(await page.locator(".inst-status").innerText(), /^Done/);
  assert.match(await page.locator(".inst-fold .facts").last().textContent(), /Repeat1/);
  assert.deepEqual(await page.locator("#zone-compare thead th button").allInnerTexts(), ["IBA-Agent"]);
  await page.goto(`${site.url}#/instances?q=announcement`);
  const all = page.locator(".run-all button");
  await all.waitFor();
  const before = await all.boundingBox();
  await all.dblclick();
  await page.locator(".batch-bar").waitFor();
  assert.equal((await all.boundingBox()).y, before.y, "nothing moves under the pointer");
  await page.locator(".batch-bar").getByText(/ended at/).waitFor({ timeout: 120_000 });
  await page.goto(`${site.url}#/instances?q=nothingofthatname`);
  await page.getByRole("button", { name: "Nothing to run" }).waitFor();
  noFaults(faults);
  await context.close();
});

test("back returns from a step, from evidence and from a tab of the phone", async () => {
  const { context, page, faults } = await openPage(browser, PHONE);
  await openInstance(page, site, CALL_INSTANCE);
  await run(page);
  const line = page.locator(".inst-ended");
  assert.match(await line.innerText(), /Done · \d of 3 met/);
  const start = await hash(page);
  await line.getByRole("button", { name: /Outcome/ }).click();
  await page.locator("li.verdict").first().waitFor();
  await line.waitFor({ state: "detached" });
  const outcome = await hash(page);
  assert.match(outcome, /tab=outcome/);
  await page.locator("li.verdict .links .evidence-link").first().click();
  await page.locator("#zone-history .session.open").first().waitFor();
  assert.match(await hash(page), /tab=history.*session=/);
  await page.goBack();
  await page.locator("li.verdict").first().waitFor();
  assert.equal(await hash(page), outcome);
  await page.goBack();
  assert.equal(await hash(page), start);
  await page.locator("#zone-trace").waitFor();
  await page.locator("#stage-query_expansion-line").click();
  await page.locator("#stage-query_expansion .stage-body").waitFor();
  await page.locator("#stage-salience_reranking-line").click();
  assert.match(await hash(page), /run=[0-9a-f-]+.*stage=salience_reranking/, "the link of a step names its run");
  assert.equal(await page.locator(".stage-body").count(), 2, "several steps are open at once");
  await page.goBack();
  assert.match(await hash(page), /stage=query_expansion/);
  await page.getByRole("button", { name: "Close all" }).click();
  assert.equal(await page.locator(".stage-body").count(), 0);
  await page.getByRole("button", { name: "Open all" }).click();
  assert.equal(await page.locator(".stage-body").count(), 8);
  const read = await page.locator("#stage-salience_reranking .stage-io").innerText();
  assert.match(read, /What went in\s+the task, \d+ passages/);
  noFaults(faults);
  await context.close();
});

test("what of an address leads nowhere is said, with a way on", async () => {
  const { context, page, faults } = await openPage(browser);
  const said = async (query) => {
    await page.goto(`${site.url}${CALL_INSTANCE}?${query}`);
    const line = page.locator(".dead-end");
    await line.first().waitFor({ timeout: 60_000 });
    return (await line.allInnerTexts()).join(" ");
  };
  assert.match(await said("stage=salience_reranking"), /nothing has been run here yet/);
  assert.match(await said("session=s9999&requirement=r99"), /no requirement “r99”|no session “s9999”/);
  assert.match(await said("system=moon"), /no system “moon”/);
  assert.match(await said("mode=dream"), /no mode “dream”/);
  assert.match(await said("run=000-none"), /Run 000-none is not kept in this browser/);
  await page.getByRole("button", { name: "Open a file" }).waitFor();
  // A recorded run is a click away, and the view stays.
  const recorded = "academic_paper_writing-a.iba_agent";
  await page.goto(`${site.url}#/instance/academic_paper_writing-a?run=${recorded}&stage=compact_evidence`);
  await page.getByRole("button", { name: "Load recorded runs" }).click();
  await page.locator("#stage-compact_evidence .stage-body").waitFor({ timeout: 60_000 });
  assert.equal(await page.locator(".dead-end").count(), 0);
  assert.match(await hash(page), /run=academic_paper_writing-a.iba_agent/);
  await page.goto(`${site.url}#/results?part=moon`);
  await page.getByText("The results have no part “moon”").waitFor();
  await page.goto(`${site.url}#/nonsense`);
  await page.getByText("“#/nonsense” is not the address").waitFor();
  await page.goto(`${site.url}#/instance/`);
  await page.getByText("“#/instance/” is not the address").waitFor();
  noFaults(faults);
  await context.close();
});

test("a run that ends in one tab appears in the other", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  const other = await context.newPage();
  await openInstance(other, site, CALL_INSTANCE);
  await run(other);
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor();
  assert.equal(await page.locator("li.verdict").count(), 3);
  noFaults(faults);
  await context.close();
});

test("the history is one stop of the Tab key, and the marks of j and k are the focus", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, TEXT_INSTANCE);
  await page.locator(".session-line").first().waitFor();
  assert.equal(await page.locator(".session-line[tabindex='0']").count(), 1);
  const at = () => page.evaluate(() => document.activeElement.id);
  await page.locator(".session-line[tabindex='0']").focus();
  const first = await at();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction((id) => document.activeElement.id !== id, first);
  const second = await at();
  await page.keyboard.press("End");
  await page.waitForFunction((id) => document.activeElement.id !== id, second);
  await page.keyboard.press("Home");
  await page.waitForFunction((id) => document.activeElement.id === id, first);
  await page.keyboard.press("Enter");
  await page.locator(".session.open .session-body").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 120_000 });
  await page.keyboard.press("j");
  await page.waitForFunction(() => /^requirement-.*-link$/.test(document.activeElement.id));
  await page.keyboard.press("4");
  await page.waitForFunction(() => document.activeElement.id === "zone-compare");
  noFaults(faults);
  await context.close();
});
