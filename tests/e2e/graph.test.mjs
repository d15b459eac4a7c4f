// A dataset that brings its HNSW graph: loaded instead of built, as good as the exact search, fetched
// once; and a graph that cannot be used, which is said and gives way to one that is built here.
import test from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import path from "node:path";
import { promisify } from "node:util";
import { serveFiles, serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { manifestOf, onlyShards, readDataset, recordsOf, removeFolder, withManifest, writeFolder } from "./support/dataset.mjs";
import { noFaults } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const lab = process.env.IBA_LAB_LAB;
const skip = lab ? false : "IBA_LAB_LAB is not set: it names the native tool that links the dataset (`./dev e2e` sets it)";
const GRAPH = "vectors/all-minilm-l6-v2/graph.bin";
/** Histories of some users: all of them would take the native tool most of a minute on a busy machine. */
const MANY = ["a1p1", "a1p2", "a2p1", "a2p2", "a3p1", "a3p2", "a4p1", "a4p2"];
/** The graph of these is built in the page in a second or two. */
const FEW = ["a1p1", "a2p1", "a3p1"];

let browser, site, many, few;
test.before(async () => {
  if (skip) return;
  browser = await launch();
  site = await serveSite({ root });
  const dataset = await readDataset(path.join(root, "datasets", "iba-mini"));
  many = await indexed(onlyShards(dataset, MANY));
  few = await indexed(onlyShards(dataset, FEW));
});
test.after(async () => {
  if (skip) return;
  await browser.close();
  await site.close();
});

/** The dataset with the graph that `lab dataset index` makes. */
async function indexed(dataset) {
  const folder = await writeFolder(dataset);
  await promisify(execFile)(lab, ["dataset", "index", folder]);
  const files = await readDataset(folder);
  await removeFolder(folder);
  return files;
}

/** The dataset with other bytes for its graph, which the manifest knows of. */
function withGraph(files, bytes) {
  const sound = withManifest(files, (manifest) => {
    Object.assign(manifest.embeddings[0].graph, { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") });
  });
  return { ...sound, [GRAPH]: bytes };
}

const search = (host, text, by) =>
  `${site.url}#/search?q=${encodeURIComponent(text)}${by ? `&by=${by}` : ""}&data=${encodeURIComponent(`${host.url}manifest.json`)}`;

const panel = (page) => page.locator(".all-graph");
const loadButton = (page) => panel(page).getByRole("button", { name: /^Load the graph \(/ });

/** Opens a search and waits until passages are compared by meaning. */
async function openSearch(page, host, text) {
  await page.goto(search(host, text));
  await page.getByText("every passage compared").waitFor({ timeout: 60_000 });
}

/** Notes whatever the panel of the graph says on the way. */
async function watchPanel(page) {
  await page.evaluate(() => {
    const panel = document.querySelector(".all-graph");
    globalThis.panelSaid = [];
    new MutationObserver(() => panelSaid.push(panel.innerText)).observe(panel, { childList: true, subtree: true, characterData: true });
  });
  return () => page.evaluate(() => panelSaid.join("\n"));
}

/** The figures of a graph by their names. */
async function figures(page) {
  await panel(page).getByText("Recall@10").waitFor({ timeout: 120_000 });
  const names = await page.locator(".all-facts dt").allInnerTexts();
  const values = await page.locator(".all-facts dd").allInnerTexts();
  return Object.fromEntries(names.map((name, n) => [name, values[n]]));
}

const hits = (page) => page.locator("li.all-hit").evaluateAll((items) =>
  items.map((item) => `${item.querySelector("a:nth-of-type(2)")?.textContent} ${item.querySelector(".all-text").textContent}`));

test("a graph that comes with the dataset is loaded, not built, and finds what the scan finds", { skip }, async () => {
  const host = await serveFiles(many);
  const asked = () => host.log.filter((name) => name === GRAPH).length;
  const { context, page, faults } = await openPage(browser);
  await openSearch(page, host, "window seat");
  // The offer says the size; nothing is fetched before it is taken.
  const bytes = many[GRAPH].length;
  const told = bytes < 1e6 ? `${(bytes / 1e3).toFixed()} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
  assert.equal(await loadButton(page).innerText(), `Load the graph (${told})`);
  assert.equal(asked(), 0);
  const said = await watchPanel(page);
  await loadButton(page).click();
  const facts = await figures(page);
  console.log(JSON.stringify(facts));
  assert.equal(asked(), 1);
  assert.doesNotMatch(await said(), /linked|Built in|is not used/, "nothing was built");
  // As FORMAT.md lays the file out: rows at byte 8, M at 16, ef_construction at 20.
  const [rows, , m, efConstruction] = [8, 12, 16, 20].map((at) => many[GRAPH].readUInt32LE(at));
  assert.equal(facts.Passages.replace(/\D/g, ""), `${rows}`);
  assert.match(await page.locator(".all-said").innerText(), new RegExp(`of ${facts.Passages} passages`));
  assert.match(facts.Parameters, new RegExp(`^M ${m}, ef_construction ${efConstruction}, ef_search \\d+$`));
  assert.ok(parseFloat(facts["Loaded in"]) < 2, facts["Loaded in"]);
  for (const way of ["A query, exact", "A query, graph"]) assert.match(facts[way], /^\d+\.\d\d ms$/);
  const [, recall, tasks] = facts["Recall@10"].match(/^([\d.]+) on (\d+) tasks$/);
  assert.ok(Number(recall) >= 0.97 && Number(recall) <= 1, recall);
  assert.equal(Number(tasks), recordsOf(many, manifestOf(many).index.path).length, "each task of these users was asked");

  const queries = ["window seat", "no spicy food, mild please", "shorter paragraphs", "early in the morning", "a gift for my mother", "remind me the day before"];
  let found = 0;
  for (const query of queries) {
    await page.goto(search(host, query));
    await page.getByText("every passage compared").waitFor({ timeout: 10_000 });
    const exact = await hits(page);
    await page.getByLabel("How to search").selectOption("graph");
    await page.getByText("through the HNSW graph").waitFor({ timeout: 10_000 });
    const walked = await hits(page);
    assert.equal(exact.length, 10);
    assert.equal(walked.length, 10);
    assert.equal(walked[0], exact[0], query);
    found += walked.filter((hit) => exact.includes(hit)).length;
  }
  assert.ok(found >= 0.97 * 10 * queries.length, `${found} of ${10 * queries.length}`);

  // Another visit has it from this browser.
  await page.goto("about:blank");
  await openSearch(page, host, "window seat");
  await loadButton(page).click();
  assert.ok("Loaded in" in await figures(page));
  assert.equal(asked(), 1, "fetched once");
  noFaults(faults);
  await context.close();
  await host.close();
});

test("loading a graph can be stopped, and is offered again", { skip }, async () => {
  let release;
  const held = new Promise((done) => { release = done; });
  const host = await serveFiles(few, { before: (name) => (name === GRAPH ? held : undefined) });
  const { context, page, faults } = await openPage(browser);
  await openSearch(page, host, "window seat");
  await loadButton(page).click();
  while (!host.log.includes(GRAPH)) await page.waitForTimeout(50);
  await page.goto(search(host, "no spicy food"));
  await page.waitForFunction(() => document.querySelector(".all-hits mark")?.textContent !== "window", null, { timeout: 10_000 });
  assert.match(await page.locator(".all-said").innerText(), /every passage compared/, "exact searches go on meanwhile");
  await panel(page).getByRole("button", { name: "Cancel" }).click();
  await loadButton(page).waitFor({ timeout: 5000 });
  assert.equal(await panel(page).locator(".problem").count(), 0, "that was no failure");
  release();
  await loadButton(page).click();
  assert.ok("Loaded in" in await figures(page));
  noFaults(faults);
  await context.close();
  await host.close();
});

const changed = (bytes, at) => {
  const copy = Buffer.from(bytes);
  copy[at < 0 ? copy.length + at : at] ^= 0x55;
  return copy;
};
/** What is wrong with the graph: the files as the host has them, and what the page says. */
const UNUSABLE = [
  ["one byte of which has changed", () => ({ ...few, [GRAPH]: changed(few[GRAPH], -200) }), /graph\.bin: SHA-256 is [0-9a-f]{64}, but the manifest says [0-9a-f]{64}/],
  ["that lacks its end", () => ({ ...few, [GRAPH]: few[GRAPH].subarray(0, few[GRAPH].length >> 1) }), /graph\.bin: SHA-256 is/],
  ["whose transfer breaks off", () => ({ ...few, [GRAPH]: { body: few[GRAPH].subarray(0, 5000), headers: { "content-length": few[GRAPH].length } } }), /graph\.bin broke off after \d+ bytes|graph\.bin could not be read/],
  ["that is missing", () => ({ ...few, [GRAPH]: undefined }), /graph\.bin does not exist \(status 404\)/],
  ["in whose place there is a web page", () => ({ ...few, [GRAPH]: { body: "<!doctype html><p>Sign in</p>", headers: { "content-type": "text/html" } } }), /graph\.bin answered with a web page/],
  ["of other vectors", () => withGraph(few, many[GRAPH]), /made for other vectors than those that are searched/],
  ["that was written damaged", () => withGraph(few, few[GRAPH].subarray(0, few[GRAPH].length - 3)), /it is damaged: it ends after \d+ bytes/],
];
for (const [name, files, why] of UNUSABLE) {
  test(`a graph ${name}: it is said why, and one is built`, { skip }, async () => {
    const spoiled = files();
    const host = await serveFiles((file) => spoiled[file]);
    const { context, page, faults } = await openPage(browser);
    await openSearch(page, host, "window seat");
    const exact = await hits(page);
    await loadButton(page).click();
    const facts = await figures(page);
    assert.ok(host.log.includes(GRAPH), "it was asked for");
    const said = await panel(page).getByRole("status").innerText();
    console.log(said);
    assert.match(said, /^The graph that came with the dataset is not used: .*\. This one was built here\.$/);
    assert.match(said, why);
    assert.doesNotMatch(said, /\.\.|: :/);
    assert.ok("Built in" in facts && !("Loaded in" in facts), JSON.stringify(facts));
    assert.ok(parseFloat(facts["Recall@10"]) >= 0.97, facts["Recall@10"]);
    await page.getByLabel("How to search").selectOption("graph");
    await page.getByText("through the HNSW graph").waitFor({ timeout: 10_000 });
    const walked = await hits(page);
    assert.ok(walked.filter((hit) => exact.includes(hit)).length >= 9, "it finds what the scan finds");
    noFaults(faults);
    await context.close();
    await host.close();
  });
}

test("the graph of this dataset agrees with its manifest", { skip }, () => {
  const { graph } = manifestOf(many).embeddings[0];
  assert.equal(graph.path, GRAPH);
  assert.equal(graph.bytes, many[GRAPH].length);
  assert.equal(graph.sha256, createHash("sha256").update(many[GRAPH]).digest("hex"));
  assert.equal(many[GRAPH].subarray(0, 4).toString(), "IBAG");
});
