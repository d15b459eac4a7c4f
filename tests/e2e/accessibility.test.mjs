// Every view in light and in dark by axe-core's rules, and in a window 360 px wide without anything
// that sticks out.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { CALL_INSTANCE, TEXT_INSTANCE, noFaults, openInstance, run } from "./support/steps.mjs";

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root: process.env.IBA_LAB_DIST }); });
test.after(async () => { await browser.close(); await site.close(); });

const heading = (page, name) => page.getByRole("heading", { level: 1, name }).waitFor();
const VIEWS = [
  ["Start", async (page) => {
    await page.goto(site.url);
    await page.getByText("110", { exact: true }).waitFor();
    await page.getByText("Open another dataset").click();
  }],
  ["Instances", async (page) => {
    await page.goto(`${site.url}#/instances`);
    await page.getByText("110 instances", { exact: true }).waitFor();
    const narrow = page.getByRole("button", { name: "Filter", exact: true });
    if (await narrow.isVisible()) await narrow.click();
  }],
  ["Instances, none found", async (page) => {
    await page.goto(`${site.url}#/instances?text=zzzzzz`);
    await page.getByRole("searchbox", { name: "Search instances" }).fill("zzzzzz");
    await page.getByText("No instance fits").waitFor();
  }],
  ["All histories, searched", async (page) => {
    await page.goto(`${site.url}#/search?q=mild%20food`);
    await page.getByText("every passage compared").waitFor();
  }],
  ["Instance", (page) => openInstance(page, site, TEXT_INSTANCE)],
  ["Instance, a text after its run", (page) => run(page)],
  ["Instance, its stages", async (page) => {
    await page.goto(`${site.url}${TEXT_INSTANCE}?tab=trace&stage=similarity_retrieval`);
    await page.getByText("Similarity retrieval").first().waitFor();
  }],
  ["Instance, a call after its run", async (page) => { await openInstance(page, site, CALL_INSTANCE); await run(page); }],
  ["Results", async (page) => { await page.goto(`${site.url}#/results`); await heading(page, /Results/); await page.waitForTimeout(500); }],
  ["Settings", async (page) => { await page.goto(`${site.url}#/settings`); await heading(page, "Settings"); }],
  ["Settings, an endpoint", async (page) => { await page.getByText("A model behind an endpoint", { exact: true }).click(); await page.locator("#agent-url").waitFor(); }],
  ["About", async (page) => { await page.goto(`${site.url}#/about`); await page.locator("main h1").first().waitFor(); }],
  ["an address that no view has", async (page) => { await page.goto(`${site.url}#/nowhere`); await page.getByText("Nothing is here").waitFor(); }],
];

/** What axe finds wrong, a line each. */
async function violations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate((values) => window.axe.run(document, { runOnly: { type: "tag", values } }), RULES);
  return found.violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target, failureSummary }) =>
    `${id} (${impact}) at ${target.join(" ")}: ${failureSummary.split("\n").slice(1).map((line) => line.trim()).join("; ")}`));
}

/** What sticks out of the window to the right, unless it lies in a box that scrolls by itself. */
async function overflow(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const scrolls = (element) => {
      for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
        if (/auto|scroll|hidden|clip/.test(getComputedStyle(box).overflowX)) return true;
      }
      return false;
    };
    const out = [...document.body.querySelectorAll("*")].filter((element) => {
      const { left, right, width: own, height } = element.getBoundingClientRect();
      return own && height && right > width + 0.5 && left < width + 2000 && getComputedStyle(element).visibility !== "hidden" && !scrolls(element);
    }).map((element) => `<${element.localName} class="${element.getAttribute("class") ?? ""}"> ends at ${Math.round(element.getBoundingClientRect().right)}`);
    const page = document.documentElement.scrollWidth;
    return page > width ? [`the page is ${page} wide`, ...out.slice(0, 8)] : [];
  });
}

for (const colorScheme of ["light", "dark"]) {
  test(`axe-core finds nothing wrong with any view in ${colorScheme}`, { timeout: 300_000 }, async (t) => {
    const { context, page, faults } = await openPage(browser, { colorScheme, reducedMotion: "reduce" });
    for (const [name, open] of VIEWS) {
      await open(page);
      const found = await violations(page);
      await t.test(name, () => assert.deepEqual(found, []));
    }
    noFaults(faults);
    await context.close();
  });
}

test("nothing sticks out of a window 360 px wide", { timeout: 300_000 }, async (t) => {
  const { context, page, faults } = await openPage(browser, { viewport: { width: 360, height: 740 }, reducedMotion: "reduce" });
  for (const [name, open] of VIEWS) {
    await open(page);
    const found = await overflow(page);
    if (process.env.IBA_LAB_SHOTS) await page.screenshot({ path: `${process.env.IBA_LAB_SHOTS}/${name.replace(/\W+/g, "-")}.png`, fullPage: true });
    await t.test(name, () => assert.deepEqual(found, []));
  }
  noFaults(faults);
  await context.close();
});
