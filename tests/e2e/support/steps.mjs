// What a visitor does, once.
import assert from "node:assert/strict";
import fs from "node:fs/promises";

export const TEXT_INSTANCE = "#/instance/announcement_drafting-a";
export const CALL_INSTANCE = "#/instance/food_ordering-a";

/** Opens an instance and waits until it can be run. */
export async function openInstance(page, site, fragment) {
  await page.goto(site.url + fragment);
  await page.getByRole("button", { name: "Run", exact: true }).waitFor({ timeout: 60_000 });
}

/** When Run was last pressed on each page: sooner than a person, a press is half a double click. */
const pressed = new WeakMap();

/** Presses Run and waits for the last verdict. */
export async function run(page, timeout = 120_000) {
  await page.waitForTimeout(Math.max(0, (pressed.get(page) ?? 0) + 600 - Date.now()));
  pressed.set(page, Date.now());
  await page.getByRole("button", { name: /^Run( again)?$/ }).click();
  await page.getByRole("button", { name: "Run again", exact: true }).waitFor({ timeout });
}

/** Chooses a system by its name in addresses, and what is asked of it. */
export async function choose(page, system, mode = "Task") {
  await page.getByLabel("System", { exact: true }).selectOption(system);
  await page.locator(".inst-run label").filter({ hasText: new RegExp(`^${mode}$`) }).click();
}

/** Names of the steps that were carried out, in the order shown. */
export async function steps(page) {
  return page.locator("li.stage[data-state=done] .stage-name").allInnerTexts();
}

/** States of the verdicts as shown. */
export async function verdicts(page) {
  return page.locator("li.verdict").evaluateAll((items) => items.map((item) => ({
    state: item.dataset.state, why: item.querySelector(".verdict-why")?.textContent ?? "" })));
}

/** Enters an endpoint in the settings, with its judge. */
export async function useEndpoint(page, site, { url, model = "fake-large", key = "sk-test-key-123456", judge = true }) {
  await page.goto(`${site.url}#/settings`);
  await page.getByText("A model behind an endpoint", { exact: true }).click();
  await page.locator("#agent-provider").selectOption("");
  await page.locator("#agent-url").fill(url);
  await page.locator("#agent-url").blur();
  await page.getByLabel("Key", { exact: true }).first().fill(key);
  await page.getByLabel("Key", { exact: true }).first().blur();
  await page.locator("#agent-model").fill(model);
  await page.locator("#agent-model").blur();
  if (judge) await page.getByText("The agent's model", { exact: true }).click();
}

/** Enters an embedding endpoint in the settings, as the model that finds passages. */
export async function useEmbeddings(page, site, { url, model = "bge-m3", key }) {
  await page.goto(`${site.url}#/settings`);
  await page.getByText("An embedding endpoint", { exact: true }).click({ timeout: 240_000 });
  await page.locator("#embedding-provider").selectOption("");
  await page.locator("#embedding-url").fill(url);
  await page.locator("#embedding-url").blur();
  if (key) await enterEmbeddingKey(page, key);
  await page.locator("#embedding-model").fill(model);
  await page.locator("#embedding-model").blur();
}

/** Enters the key of the embedding endpoint; the settings are open. */
export async function enterEmbeddingKey(page, key) {
  await page.locator("#embedding-key").fill(key);
  await page.locator("#embedding-key").blur();
}

/** Everything the site keeps in this browser, as one text. */
export async function everythingStored(page) {
  return page.evaluate(async () => {
    const parts = [JSON.stringify(localStorage), JSON.stringify(sessionStorage), location.href];
    for (const { name } of await indexedDB.databases()) {
      const db = await new Promise((done, fail) => {
        const asked = indexedDB.open(name);
        asked.onsuccess = () => done(asked.result);
        asked.onerror = () => fail(asked.error);
      });
      for (const store of db.objectStoreNames) {
        const all = await new Promise((done) => {
          const asked = db.transaction(store).objectStore(store).getAll();
          asked.onsuccess = () => done(asked.result);
        });
        parts.push(JSON.stringify(all));
      }
      db.close();
    }
    return parts.join("\n");
  });
}

/** Saves what a click downloads and gives its bytes and name. */
export async function download(page, click) {
  const [saved] = await Promise.all([page.waitForEvent("download"), click()]);
  return { name: saved.suggestedFilename(), bytes: await fs.readFile(await saved.path()), path: await saved.path() };
}

export function noFaults(faults) {
  assert.deepEqual(faults, []);
}
