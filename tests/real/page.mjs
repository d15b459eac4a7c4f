// The built site, in Chromium, against a real model server: list of models, test, and one stage.
// node page.mjs BASE_URL, with IBA_LAB_DIST; uses the support code of tests/e2e.
import assert from "node:assert/strict";
import { launch, openPage } from "../e2e/support/browser.mjs";
import { serveSite } from "../e2e/support/site.mjs";
import { useEndpoint } from "../e2e/support/steps.mjs";

const [url] = process.argv.slice(2);
const browser = await launch();
const site = await serveSite({ root: process.env.IBA_LAB_DIST });
try {
  const { page, faults } = await openPage(browser);
  await useEndpoint(page, site, { url, model: "any", judge: false });
  await page.getByRole("button", { name: "List models" }).first().click();
  await page.getByRole("button", { name: /found/ }).waitFor({ timeout: 30_000 });
  await page.getByRole("button", { name: "Test", exact: true }).first().click();
  await page.getByText(/answered in/).waitFor({ timeout: 120_000 });
  assert.deepEqual(faults, []);
  console.log(await page.locator(".answer.good").innerText());
} finally {
  await browser.close();
  await site.close();
}
process.exit(0);
