// A finished run judged again, in other words and by the same model, without asking the agent.
import test from "node:test";
import assert from "node:assert/strict";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { answer } from "./support/answers.mjs";
import { startProvider } from "./support/provider.mjs";
import { TEXT_INSTANCE, download, noFaults, openInstance, run, useEndpoint, verdicts } from "./support/steps.mjs";

let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root: process.env.IBA_LAB_DIST }); });
test.after(async () => { await browser.close(); await site.close(); });

const promptOf = (body) => body.messages.map((message) => message.content).join("\n");
const isJudge = (body) => /strict examiner|lenient examiner/.test(promptOf(body));

/** Says no as it ships, yes when its prompt was edited. */
function judging(body) {
  const prompt = promptOf(body);
  if (!isJudge(body)) return answer(body);
  const verdict = /lenient examiner/.test(prompt) ? 1 : 0;
  const ids = [...new Set([...prompt.matchAll(/^(R\d+): /gm)].map(([, id]) => id))];
  return JSON.stringify({ verdicts: ids.map((id) => ({ id, quote: "", rationale: `Looked at ${id}.`, verdict })) });
}

async function exported(page) {
  const saved = await download(page, () => page.getByRole("button", { name: "JSON", exact: true }).click());
  return JSON.parse(saved.bytes.toString().replace(/\bNaN\b/g, "null"));
}

const met = (list) => list.filter((verdict) => verdict.state === "met").length;

test("an edited judge's prompt judges a finished run again; the first verdicts stay and come back", async () => {
  const provider = await startProvider({ answer: judging });
  const { context, page, faults } = await openPage(browser);
  await useEndpoint(page, site, { url: provider.url });
  await openInstance(page, site, TEXT_INSTANCE);
  await run(page);
  const first = await verdicts(page);
  const calls = provider.calls.length;
  const asked = () => provider.calls.slice(calls).map((call) => isJudge(call.body));

  await page.getByRole("button", { name: "Prompts", exact: true }).click();
  await page.getByLabel("Prompt", { exact: true }).selectOption("judge");
  const text = await page.getByLabel("Text", { exact: true }).inputValue();
  assert.match(text, /strict examiner/);
  await page.getByLabel("Text", { exact: true }).fill(text.replace("strict examiner", "lenient examiner"));
  await page.keyboard.press("Escape");
  await page.getByText("1 change is not kept yet.").waitFor();
  await page.getByRole("button", { name: "Go on editing" }).click();
  await page.getByRole("button", { name: "Use for the next runs" }).click();
  await page.getByText(/Kept\./).waitFor();
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Judge again", exact: true }).click();
  await page.getByRole("button", { name: "Take the last judging back" }).waitFor();
  assert.ok(asked().length > 0 && asked().every(Boolean), "only the judge is asked");
  const log = await exported(page);
  const judges = log.samples[0].metadata.iba.record.judgements;
  assert.ok(judges.some((one) => /edited prompt/.test(JSON.stringify(one))), "the edited words go with the judge");
  assert.ok(judges.filter((one) => (one.round ?? 0) === 0).length > 0, "the first judging stays");
  const once = asked().length;

  await page.getByRole("button", { name: "Take the last judging back" }).click();
  await page.getByRole("button", { name: "Take the last judging back" }).waitFor({ state: "detached" });
  assert.deepEqual(await verdicts(page), first, "the first verdicts are back");
  await page.getByRole("button", { name: "Judge again", exact: true }).click();
  await page.getByRole("button", { name: "Take the last judging back" }).waitFor();
  assert.equal(asked().length, once, "what was said is not asked again");
  assert.ok(met(await verdicts(page)) >= met(first));
  const judged = page.locator(".judge-calls");
  await judged.getByText("What the judges were asked").click();
  assert.match(await judged.locator(".judge-call").first().innerText(), /asking 1 .*tokens .*shown as r/);
  await judged.getByRole("button", { name: /model call/ }).first().click();
  assert.match(await judged.locator(".call").first().innerText(), /strict examiner[\s\S]*reply/);
  noFaults(faults);
  await context.close();
  await provider.close();
});
