// Datasets from elsewhere: another host, dropped files, and bad input that leaves what was loaded alone.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import zlib from "node:zlib";
import { serveFiles, serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { openInstance } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const folder = path.join(root, "datasets", "iba-mini");
let browser, site, dataset;
test.before(async () => {
  browser = await launch();
  site = await serveSite({ root });
  dataset = {};
  for (const entry of await fs.readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    dataset[path.relative(folder, file)] = await fs.readFile(file);
  }
});
test.after(async () => { await browser.close(); await site.close(); });

/** The start page with IBA-Mini loaded, and a way to ask for another dataset. */
async function startPage() {
  const opened = await openPage(browser);
  await opened.page.goto(site.url);
  await opened.page.getByText("110", { exact: true }).waitFor();
  const open = async (url) => {
    await opened.page.goto(`${site.url}#/`);
    await opened.page.getByText("Open another dataset").click();
    await opened.page.locator("#dataset-address").fill(url);
    await opened.page.getByRole("button", { name: "Open", exact: true }).click();
  };
  return { ...opened, open };
}

test("a dataset on another host opens by its address, and one instance loads one shard", async () => {
  const host = await serveFiles(dataset);
  const { context, page } = await openPage(browser);
  await openInstance(page, site, `#/instance/food_ordering-a?data=${encodeURIComponent(`${host.url}manifest.json`)}`);
  assert.equal(host.log.filter((name) => name.startsWith("shards/")).length, 1, host.log.join(" "));
  await context.close();
  await host.close();
});

const manifest = () => JSON.parse(dataset["manifest.json"]);
const changed = (change) => { const copy = manifest(); change(copy); return Buffer.from(JSON.stringify(copy)); };
const BAD_MANIFESTS = [
  ["an HTML error page with status 200", { body: "<!doctype html><title>Not here</title>", headers: { "content-type": "text/html" } }, /web page|HTML/i],
  ["not JSON", Buffer.from("hello"), /JSON/],
  ["a later version", () => changed((copy) => { copy.version = 99; }), /version/i],
  ["another format", () => changed((copy) => { copy.format = "other"; }), /format/i],
];
for (const [name, bad, said] of BAD_MANIFESTS) {
  test(`bad manifest: ${name}`, async () => {
    const host = await serveFiles({ ...dataset, "manifest.json": typeof bad === "function" ? bad() : bad });
    const { context, page, open } = await startPage();
    await open(`${host.url}manifest.json`);
    await page.locator("[role=alert], .problem, .notice, .toast").filter({ hasText: said }).first().waitFor({ timeout: 20_000 });
    await page.goto(`${site.url}#/instances`);
    await page.getByText(/110 instances/).waitFor();
    await context.close();
    await host.close();
  });
}

test("a host without CORS is explained, and what was loaded stays", async () => {
  const host = await serveFiles(dataset, { cors: false });
  const { context, page, open } = await startPage();
  await open(`${host.url}manifest.json`);
  await page.getByText(/CORS|Access-Control-Allow-Origin/).first().waitFor({ timeout: 20_000 });
  await page.goto(`${site.url}#/instances`);
  await page.getByText(/110 instances/).waitFor();
  await context.close();
  await host.close();
});

const shardOf = (id) => {
  const index = zlib.gunzipSync(dataset[manifest().index.path]).toString().trim().split("\n").map((line) => JSON.parse(line));
  const entry = index.find((line) => line.id === id);
  return manifest().shards.find((shard) => shard.id === entry.shard).file.path;
};
test("a shard that the host has changed is refused by its hash", async () => {
  const shard = shardOf("food_ordering-a");
  const other = zlib.gzipSync(Buffer.concat([zlib.gunzipSync(dataset[shard]), Buffer.from("\n")]));
  const host = await serveFiles({ ...dataset, [shard]: other });
  const { context, page } = await openPage(browser);
  await page.goto(`${site.url}#/instance/food_ordering-a?data=${encodeURIComponent(`${host.url}manifest.json`)}`);
  await page.getByText(/SHA-256|hash/i).first().waitFor({ timeout: 20_000 });
  await context.close();
  await host.close();
});

test("a host that unpacks gzip on the way is no problem", async () => {
  const host = await serveFiles((name) => dataset[name] && name.endsWith(".gz")
    ? { body: dataset[name], headers: { "content-encoding": "gzip" } } : dataset[name]);
  const { context, page } = await openPage(browser);
  await openInstance(page, site, `#/instance/food_ordering-a?data=${encodeURIComponent(`${host.url}manifest.json`)}`);
  await context.close();
  await host.close();
});
