// The systems side by side: function calling, QA mode, ablations that share stages, edited prompts,
// other thresholds, and the reference points without a model.
import test from "node:test";
import assert from "node:assert/strict";
import zlib from "node:zlib";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { startProvider } from "./support/provider.mjs";
import { answer, controlled } from "./support/answers.mjs";
import { CALL_INSTANCE, TEXT_INSTANCE, choose, download, noFaults, openInstance, run, steps, useEndpoint, verdicts } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

async function withEndpoint(options, body) {
  const provider = await startProvider({ answer, ...options });
  const { context, page, faults } = await openPage(browser);
  try {
    await useEndpoint(page, site, { url: provider.url });
    await body({ provider, page, context, faults });
    noFaults(faults);
  } finally {
    await context.close();
    await provider.close();
  }
}

/** Verdicts once they are drawn. */
async function judgedOn(page) {
  await page.locator("li.verdict:not([data-state=open])").first().waitFor();
  return verdicts(page);
}

async function exported(page) {
  const saved = await download(page, () => page.getByRole("button", { name: "JSON, gzip'd" }).click());
  return JSON.parse(zlib.gunzipSync(saved.bytes).toString().replaceAll("NaN", "null"));
}

/** Calls of the agent: all but the judge's and what follows the verdicts. */
const ofAgent = (provider) => provider.calls.filter((call) => !/strict examiner|"(verdicts|carried|found)\\"/.test(JSON.stringify(call.body.messages)));

test("a model picks its tools, is told of those that do not exist, and every step can be linked", async () => {
  const script = [
    [["query_expansion"]],
    [["web_search", { q: "style" }], ["similarity_retrieval"]],
    [["similarity_retrieval", { queries: ["shorter, please"] }], ["salience_reranking"], ["compact_evidence"]],
    [["preference_extraction"], ["task_preference_alignment"]],
    [["text_generation"]],
  ];
  await withEndpoint({ answer: controlled(script) }, async ({ provider, page }) => {
    await openInstance(page, site, TEXT_INSTANCE);
    await choose(page, "iba_agent_fc");
    await run(page);
    assert.deepEqual(await steps(page), [
      "Controller", "Query expansion", "Controller", "Similarity retrieval", "Controller", "Similarity retrieval",
      "Salience re-ranking", "Compact evidence", "Controller", "Preference extraction", "Task-preference alignment", "Controller", "Text generation",
    ]);
    const turns = provider.calls.filter((call) => call.body.tools?.length);
    assert.equal(turns.length, 5);
    const told = turns[2].body.messages.filter((message) => message.role === "tool").map((message) => message.content);
    assert.match(told[1], /no tool "web_search"/);
    assert.match(told[2], /<passage id="P1"/);
    assert.ok((await judgedOn(page)).every((verdict) => verdict.state !== "unscored"));
    await page.locator("#stage-controller-2 .stage-line").click();
    assert.match(await page.locator("#stage-controller-2 .stage-body").innerText(), /web_search[\s\S]*refused/);
    assert.match(page.url(), /system=iba_agent_fc.*stage=controller&nth=2/);
    const log = await exported(page);
    assert.equal(log.eval.solver, "iba_agent_fc");
    assert.equal(log.eval.task_args.system, "iba_agent_fc");
    const events = log.samples[0].events;
    const spans = events.filter((event) => event.event === "span_begin" && event.type === "iba.stage").map((event) => event.name);
    assert.equal(spans.filter((name) => name === "controller").length, 5);
    const asked = events.filter((event) => event.event === "model" && event.tools.length > 0);
    assert.equal(asked.length, 5);
    assert.equal(asked[1].output.choices[0].message.tool_calls[0].function, "web_search");
    assert.ok(asked[2].input.some((message) => message.role === "tool" && message.error));
    // The link opens the same step in a fresh load of the page.
    await page.reload();
    await page.locator("#stage-controller-2 .stage-body").waitFor({ timeout: 60_000 });
  });
});

test("a model that never finishes ends as an error and keeps its trace", async () => {
  const script = [(turn) => ({ tools: [{ name: "similarity_retrieval", arguments: { queries: [`query ${turn}`] } }] })];
  await withEndpoint({ answer: controlled(script) }, async ({ provider, page }) => {
    await page.locator("#param-max_steps").fill("3");
    await page.locator("#param-max_steps").blur();
    await openInstance(page, site, TEXT_INSTANCE);
    await choose(page, "iba_agent_fc");
    await run(page);
    assert.match(await page.locator(".inst-status").innerText(), /within 3 turns[\s\S]*trace is kept/i);
    assert.equal((await steps(page)).length, 6);
    assert.equal(provider.calls.length, 3);
    const log = await exported(page);
    assert.match(log.samples[0].error.message, /within 3 turns/);
    assert.equal(log.samples[0].events.filter((event) => event.event === "model").length, 3);
  });
});

test("prose in place of calls is reminded three times, then given up", async () => {
  await withEndpoint({ answer: (body) => body.tools ? "Here is your text: done." : answer(body) }, async ({ provider, page }) => {
    await openInstance(page, site, TEXT_INSTANCE);
    await choose(page, "iba_agent_fc");
    await run(page);
    assert.match(await page.locator(".inst-status").innerText(), /answered in prose/);
    assert.equal(provider.calls.length, 3);
    assert.match(JSON.stringify(provider.calls[2].body.messages.at(-1)), /only tool calls count/);
  });
});

test("QA asks for the preferences, is judged alike, and the gap stands beside the task", async () => {
  await withEndpoint({}, async ({ provider, page }) => {
    await openInstance(page, site, CALL_INSTANCE);
    await run(page);
    const onTask = (await judgedOn(page)).length;
    await choose(page, "iba_agent", "QA");
    await run(page);
    assert.match(page.url(), /mode=qa/);
    const names = await steps(page);
    assert.equal(names.at(-1), "Question answering");
    assert.ok(!names.includes("Task-preference alignment"));
    const judged = await judgedOn(page);
    assert.equal(judged.length, onTask, "one question for each preference of this instance");
    assert.ok(judged.every((verdict) => verdict.state !== "unscored"));
    assert.match(await page.locator(".gap").innerText(), /QA \d+ · Task \d+[\s\S]*Known when asked/);
    const questions = provider.calls.find((call) => /The questions:/.test(JSON.stringify(call.body.messages)));
    assert.doesNotMatch(JSON.stringify(questions.body.messages), /Japanese food"|says in substance/, "no answer reaches the system");
    const log = await exported(page);
    assert.equal(log.eval.task_args.mode, "qa");
  });
});

test("an ablation shares the stages it has in common, and both stand side by side", async () => {
  await withEndpoint({}, async ({ provider, page }) => {
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    const paid = ofAgent(provider).length;
    await choose(page, "wo_bt_da");
    await run(page);
    assert.equal(ofAgent(provider).length - paid, 1, "only the head is paid");
    assert.match(await page.locator(".inst-status").innerText(), /shared with earlier runs/);
    assert.match(await page.locator("#stage-query_expansion").innerText(), /shared/);
    const table = page.locator("#zone-compare table");
    assert.deepEqual((await table.locator("thead th button").allInnerTexts()), ["IBA-Agent", "w/o BT + DA"]);
    assert.ok(await table.locator("tbody tr td .state").count() >= 4);
    assert.match(await table.innerText(), /1 call, 2 shared/);
    await table.locator("thead th button").first().click();
    await page.waitForURL(/run=/);
    assert.match(await page.locator("#stage-compact_evidence").getAttribute("data-state"), /done/);
  });
});

test("an edited prompt is sent, marked in the result, and taken back", async () => {
  await withEndpoint({}, async ({ provider, page }) => {
    await openInstance(page, site, TEXT_INSTANCE);
    await page.getByRole("button", { name: "Prompts", exact: true }).click();
    await page.getByLabel("Prompt", { exact: true }).selectOption("write_text");
    const text = await page.getByLabel("Text", { exact: true }).inputValue();
    await page.getByLabel("Text", { exact: true }).fill(text.replace("{{plan}}", ""));
    await page.getByRole("button", { name: "Use for the next runs" }).click();
    await page.getByText(/\{\{plan\}\} is missing/).waitFor();
    await page.getByLabel("Text", { exact: true }).fill(text.replace("You carry out", "With care you carry out"));
    await page.getByRole("button", { name: "Use for the next runs" }).click();
    await page.getByText(/Kept\./).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Prompts: 1 edited" }).waitFor();
    await run(page);
    assert.ok(provider.calls.some((call) => /With care you carry out/.test(JSON.stringify(call.body.messages))));
    const log = await exported(page);
    assert.match(log.eval.task_args.edited_prompts.write_text, /^[0-9a-f]{64}$/);
    assert.match(log.samples[0].metadata.iba.record.variant.edits.write_text, /With care/);
    await page.getByRole("button", { name: "Prompts: 1 edited" }).click();
    await page.getByLabel("Prompt", { exact: true }).selectOption("write_text");
    await page.getByRole("button", { name: "Back to the shipped text" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Prompts", exact: true }).waitFor();
  });
});

test("other thresholds answer at once and without a call", async () => {
  await withEndpoint({}, async ({ provider, page }) => {
    await openInstance(page, site, TEXT_INSTANCE);
    await run(page);
    const paid = provider.calls.length;
    await page.getByText("What if the thresholds were others?").click();
    const effect = page.locator(".what-if [role=status]");
    const before = await effect.innerText();
    await page.getByLabel(/Passages kept at most/).fill("2");
    assert.match(await effect.innerText(), /^2 passages go on/);
    assert.notEqual(await effect.innerText(), before);
    assert.match(await page.locator(".what-if").innerText(), /would do again: Compact evidence/);
    assert.equal(provider.calls.length, paid);
    const agent = ofAgent(provider).length;
    await page.getByRole("button", { name: "Run with these" }).click();
    await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout: 60_000 });
    assert.ok(ofAgent(provider).length - agent <= 4, "expansion and scores are shared");
    assert.match(await page.locator("#stage-salience_reranking").innerText(), /2 kept[\s\S]*shared/);
  });
});

test("every system without function calling runs on the embedded baseline", async () => {
  const { context, page, faults } = await openPage(browser);
  await openInstance(page, site, CALL_INSTANCE);
  for (const system of ["iba_agent", "wo_deep_retrieval", "wo_bt_da", "wo_synthesis", "standard_rag", "no_history", "whole_history", "oracle_evidence", "other_history"]) {
    await choose(page, system);
    await run(page);
    assert.match(await page.locator(".inst-status").innerText(), /Done by embedded baseline/, system);
    assert.ok((await judgedOn(page)).length >= 3, system);
  }
  assert.equal(await page.locator("#zone-compare thead th button").count(), 9);
  await choose(page, "iba_agent_fc");
  assert.ok(await page.getByRole("button", { name: "Run", exact: true }).isDisabled());
  assert.match(await page.locator(".inst-status").innerText(), /needs a language model/);
  noFaults(faults);
  await context.close();
});

test("the comparison fits a narrow window", async () => {
  const { context, page, faults } = await openPage(browser, { viewport: { width: 360, height: 740 } });
  await openInstance(page, site, CALL_INSTANCE);
  await run(page);
  await choose(page, "standard_rag");
  await run(page);
  await page.getByRole("button", { name: "Compare" }).click();
  await page.locator("#zone-compare table").waitFor();
  assert.match(page.url(), /tab=compare/);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 360, `${wide} px`);
  noFaults(faults);
  await context.close();
});
