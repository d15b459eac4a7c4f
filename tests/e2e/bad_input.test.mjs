// Files as hosts, editors and tools spoil them, by address and dropped from disk: each is read all
// the same or refused in a sentence with its place and the next step, and what was loaded stays.
import test from "node:test";
import assert from "node:assert/strict";
import http from "node:http";
import path from "node:path";
import zlib from "node:zlib";
import { serveFiles, serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { fileRef, manifestOf, readDataset, removeFolder, spoiled, withFile, withManifest, withRecords, writeFolder } from "./support/dataset.mjs";
import { drop } from "./support/drop.mjs";
import { CALL_INSTANCE, noFaults } from "./support/steps.mjs";

const root = process.env.IBA_LAB_DIST;
const INSTANCE = "announcement_drafting-a";
const GIB = 2 ** 30;
const HTML = "<!doctype html>\n<html><head><title>Not here</title></head><body>404</body></html>\n";
const members = (text) => {
  const half = text.indexOf("\n", text.length / 2) + 5;
  return Buffer.concat([text.slice(0, half), "", text.slice(half)].map((part) => zlib.gzipSync(Buffer.from(part))));
};

// The files of IBA-Mini without its vectors.
const plain = withManifest(await readDataset(path.join(root, "datasets", "iba-mini")), (manifest) => {
  manifest.embeddings = [];
  manifest.name = "another";
});
const place = (what) => fileRef(manifestOf(plain), plain, what).path;
let made = 0;
/** These files, unlike any given before: a file of a known hash would come from the cache and prove nothing. */
function copy() {
  made += 1;
  return ["index", INSTANCE].reduce((all, what) => withFile(all, what, (text) => text + "\n".repeat(made)), plain);
}

let browser, site;
test.before(async () => { browser = await launch(); site = await serveSite({ root }); });
test.after(async () => { await browser.close(); await site.close(); });

/** The start page with IBA-Mini loaded. */
async function startPage() {
  const opened = await openPage(browser);
  opened.page.setDefaultTimeout(60_000);
  await opened.page.goto(site.url);
  await opened.page.getByText("110", { exact: true }).waitFor();
  return opened;
}

/** The start page as it is after coming from another view. */
async function freshStart(page) {
  await page.goto(`${site.url}#/settings`);
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  await page.goto(`${site.url}#/`);
  await page.getByRole("heading", { name: "Dataset", exact: true }).waitFor();
  // What was said of the last one must not be taken for what is said of the next.
  if (await page.locator("main .problem").count()) await page.reload();
  await page.getByText("110", { exact: true }).waitFor();
}

/** Asks for a dataset by its address, as a visitor types it. */
async function openAddress(page, address) {
  await freshStart(page);
  await page.getByText("Open another dataset").click();
  await page.locator("#dataset-address").fill(address);
  await page.getByRole("button", { name: "Open", exact: true }).click();
}

/** IBA-Mini is still listed and an instance of it still opens. */
async function untouched(page) {
  await page.goto(`${site.url}#/instances`);
  await page.getByText("110 instances", { exact: true }).waitFor();
  await page.goto(site.url + CALL_INSTANCE);
  await page.getByRole("heading", { level: 1, name: "Food ordering" }).waitFor();
  await page.getByRole("button", { name: /^Run/ }).first().waitFor();
}

/** A failure on the page: its sentence and its next step. */
async function problem(page) {
  const box = page.locator("main .problem, .toasts .toast.bad").first();
  await box.waitFor({ timeout: 60_000 });
  const [text, hint = ""] = await box.locator("p").allInnerTexts();
  return { text, hint };
}

/** What is to be said: where, what, and what to do. */
function says({ text, hint }, where, what, next) {
  assert.ok(text.includes(where), `names its place “${where}”: ${text}`);
  assert.match(text, what);
  assert.match(text, /[.!?]$/, "is a sentence");
  assert.match(hint, next, `the next step after: ${text}`);
}

const FAULTY = /lab dataset validate/;
const AGAIN = /Load it again/;
const BUILD = /not of the same build/;
const PAGE = /address of manifest\.json|address of the file itself/;

// [what is wrong, with which file, the dataset, what is said and advised; nothing: it is read]
const cases = [];
for (const what of ["index", INSTANCE]) {
  const add = (name, dataset, said, next) => cases.push({ name, what, dataset, said, next });
  add("truncated gzip", withFile(copy(), what, (_, stored) => stored.subarray(0, stored.length - 20)), /ends too early/, AGAIN);
  add("gzip cut on the way", spoiled(copy(), what, (stored) => stored.subarray(0, stored.length >> 1)), /ends too early/, AGAIN);
  add("a flipped bit in gzip", withFile(copy(), what, (_, stored) => { const copy = Buffer.from(stored); copy[copy.length - 6] ^= 0xff; return copy; }), /damaged/, AGAIN);
  add("unpacked under its .gz name", spoiled(copy(), what, (stored) => zlib.gunzipSync(stored)));
  add("unpacked, the manifest made for it", withFile(copy(), what, (text) => Buffer.from(text)));
  add("packed twice", spoiled(copy(), what, (stored) => zlib.gzipSync(stored)));
  add("several gzip members", withFile(copy(), what, (text) => members(text)));
  add("several gzip members by another packer", spoiled(copy(), what, (stored) => members(zlib.gunzipSync(stored).toString())));
  add("something after the gzip data", withFile(copy(), what, (_, stored) => Buffer.concat([stored, Buffer.from("<p>advertisement</p>")])), /no gzip member follows/, /binary mode/);
  add("another file of its name", spoiled(copy(), what, (stored) => zlib.gzipSync(Buffer.concat([zlib.gunzipSync(stored), Buffer.from("\n")]))), /SHA-256 is [0-9a-f]{64}, but the manifest says [0-9a-f]{64}/, BUILD);
  add("a byte-order mark", withFile(copy(), what, (text) => `\ufeff${text}`));
  add("CRLF", withFile(copy(), what, (text) => text.replaceAll("\n", "\r\n")));
  add("UTF-16", withFile(copy(), what, (text) => Buffer.from(`\ufeff${text}`, "utf16le")), /UTF-16/, /UTF-8/);
  add("Latin-1", withFile(copy(), what, (text) => Buffer.from(text.replace(/"([a-z])/, '"é$1'), "latin1")), /line 1 is not UTF-8/, /UTF-8/);
  add("an HTML page with status 200", spoiled(copy(), what, () => Buffer.from(HTML)), /web page \(HTML\)/, PAGE);
  add("a line that is not JSON", withFile(copy(), what, (text) => text.replace("\n{", "\n{{")), /line 2: is not JSON/, FAULTY);
  add("empty", withFile(copy(), what, () => Buffer.alloc(0)), /is empty/, /Upload the file anew/);
}
cases.push(
  { name: "duplicate ids", what: "index", dataset: withRecords(copy(), "index", (all) => [...all, all[3]]),
    said: /line 11\d: id: "[a-z_]+-[a-z]" stands there twice/, next: FAULTY },
  { name: "duplicate ids", what: INSTANCE, dataset: withRecords(copy(), INSTANCE, (all) => [...all, ...all.slice(-2)], { keepCounts: true }),
    said: /line \d+: instance\.id: "[a-z_]+-[a-z]" stands there twice/, next: FAULTY },
  { name: "an unknown persona", what: "index", dataset: withRecords(copy(), "index", (all) => { all[4].persona = "nobody"; }),
    said: /line 5: shard: the manifest has no shard "\w+" of the persona "nobody"/, next: FAULTY },
  { name: "an unknown persona", what: INSTANCE,
    dataset: withRecords(copy(), INSTANCE, (all) => { all.find((record) => record.instance).instance.persona = "nobody"; }),
    said: /line \d+: instance\.persona: names the unknown persona "nobody"/, next: FAULTY },
  { name: "a field of the wrong type", what: INSTANCE,
    dataset: withRecords(copy(), INSTANCE, (all) => { all[1].persona.age = "old"; }), said: /line 2: persona\.age: does not fit/, next: FAULTY },
  { name: "fewer sessions than the manifest says", what: INSTANCE,
    dataset: withRecords(copy(), INSTANCE, (all) => all.filter((record, n) => !record.session || n % 9), { keepCounts: true }), said: /sessions, but the manifest says/, next: FAULTY },
);

/** Goes where the file is read and gives the failure; without one, sees that the instance opens. */
async function look(page, { what, said, next }, address) {
  if (what !== "index" || !said) await page.goto(site.url + address);
  if (!said) {
    await page.getByRole("heading", { level: 1, name: "Announcement drafting" }).waitFor({ timeout: 60_000 });
    assert.equal(await page.locator(".problem, .toast.bad").count(), 0);
    return;
  }
  says(await problem(page), place(what), said, next);
}

const label = (what) => (what === "index" ? "index" : "shard");

test("by address: read or refused, the loaded data untouched", async (t) => {
  const { context, page, faults } = await startPage();
  for (const spoilt of cases) {
    await t.test(`${label(spoilt.what)}: ${spoilt.name}`, async () => {
      const host = await serveFiles(spoilt.dataset);
      const address = `${host.url}manifest.json`;
      await openAddress(page, address);
      if (!spoilt.said || spoilt.what !== "index") await page.waitForURL(/#\/instances/);
      await look(page, spoilt, `#/instance/${INSTANCE}?data=${encodeURIComponent(address)}`);
      await host.close();
      await untouched(page);
    });
  }
  noFaults(faults);
  await context.close();
});

test("dropped from disk: read or refused, the loaded data untouched", async (t) => {
  const { context, page, faults } = await startPage();
  for (const spoilt of cases) {
    await t.test(`${label(spoilt.what)}: ${spoilt.name}`, async () => {
      const folder = await writeFolder(spoilt.dataset);
      await freshStart(page);
      await drop(page, folder);
      if (!spoilt.said || spoilt.what !== "index") await page.waitForURL(/#\/instances\?files=another/);
      await look(page, spoilt, `#/instance/${INSTANCE}?files=another`);
      await removeFolder(folder);
      await untouched(page);
    });
  }
  noFaults(faults);
  await context.close();
});

// The manifest comes first, so nothing else is read when it is bad.
const manifestCases = [
  ["a byte-order mark", (manifest) => Buffer.from(`\ufeff${JSON.stringify(manifest)}`)],
  ["CRLF", (manifest) => Buffer.from(JSON.stringify(manifest, null, 2).replaceAll("\n", "\r\n"))],
  ["packed with gzip", (manifest) => zlib.gzipSync(Buffer.from(JSON.stringify(manifest)))],
  ["cut short", (manifest) => Buffer.from(JSON.stringify(manifest).slice(0, 5000)), /is not JSON: EOF.*line 1/, FAULTY],
  ["not JSON", () => Buffer.from("name: iba-mini\n"), /is not JSON.*line 1/, FAULTY],
  ["an HTML page", () => Buffer.from(HTML), /web page/, PAGE],
  ["empty", () => Buffer.alloc(0), /is empty/, /Upload the file anew/],
  ["another format", (manifest) => { manifest.format = "other"; }, /of the format "other"; expected .*"iba-dataset"/, /lab dataset build/],
  ["a later version", (manifest) => { manifest.version = 99; }, /has version 99 .* reads version 1/, /Build the dataset again/],
  ["a shard twice", (manifest) => { manifest.shards.push(manifest.shards[0]); }, /shards: "\w+" stands there twice/, FAULTY],
  ["a file outside of the folder", (manifest) => { manifest.index.path = "../index.jsonl.gz"; }, /"\.\.\/index\.jsonl\.gz" is not a relative path/, FAULTY],
  ["an index said to have 2 GiB", (manifest) => { manifest.index.bytes = 2 * GIB; }, /2147483648 bytes is more than the 33554432 bytes allowed for this index/, /right file/],
];

test("manifests, by address and dropped: read or refused, the loaded data untouched", async (t) => {
  const { context, page, faults } = await startPage();
  for (const [name, change, said, next] of manifestCases) {
    const dataset = withManifest(copy(), change);
    const told = async () => {
      if (!said) return page.waitForURL(/#\/instances\?/);
      return says(await problem(page), /index/.test(name) ? "index.jsonl.gz" : "manifest.json", said, next);
    };
    await t.test(name, async () => {
      const host = await serveFiles(dataset);
      await openAddress(page, `${host.url}manifest.json`);
      await told();
      await host.close();
      await untouched(page);
      const folder = await writeFolder(dataset);
      await freshStart(page);
      await drop(page, folder);
      await told();
      if (said) await page.locator(".problem").getByRole("button", { name: "Choose a folder" }).waitFor();
      await removeFolder(folder);
      await untouched(page);
    });
  }
  noFaults(faults);
  await context.close();
});

test("half a surrogate pair is replaced, and said", async () => {
  const { context, page, faults } = await startPage();
  const dataset = withRecords(withRecords(copy(), "index", (all) => { all[0].instruction += " \ud83d"; }), INSTANCE,
    (all) => { all.find((record) => record.session).session.turns[0].text = "Hello \udc00 there."; });
  const folder = await writeFolder(dataset);
  await drop(page, folder);
  await page.waitForURL(/#\/instances\?files=another/);
  await page.getByText("\ufffd").first().waitFor();
  await page.goto(`${site.url}#/`);
  await page.getByText(/1 odd thing in its files/).click();
  await page.getByText(/index\.jsonl\.gz: line 1: half of a surrogate pair stands alone/).waitFor();
  await page.goto(`${site.url}#/instance/${INSTANCE}?files=another`);
  await page.getByText(/line 3: half of a surrogate pair stands alone/).waitFor();
  await page.getByText("Hello \ufffd there.").first().waitFor();
  await removeFolder(folder);
  noFaults(faults);
  await context.close();
});

test("a bad folder dropped on any view is said there", async () => {
  const { context, page, faults } = await startPage();
  await untouched(page);
  const folder = await writeFolder(withManifest(copy(), () => Buffer.from("{")));
  for (const view of ["#/instances", CALL_INSTANCE, "#/results", "#/settings"]) {
    await page.goto(site.url + view);
    await page.locator("main h1").first().waitFor();
    await drop(page, folder);
    says(await problem(page), "manifest.json", /is not JSON/, FAULTY);
    assert.ok(page.url().endsWith(view), "the view stays");
    await page.getByRole("button", { name: "Close this message" }).click();
  }
  await removeFolder(folder);
  await untouched(page);
  noFaults(faults);
  await context.close();
});

const LARGE = /has 2147483648 bytes; here files may have at most \d+/;
test("a file of 2 GiB in the place of manifest or shard is refused before it is read", async () => {
  const { context, page, faults } = await startPage();
  for (const what of ["manifest.json", INSTANCE]) {
    const dataset = copy();
    const name = what === INSTANCE ? place(INSTANCE) : what;
    // Its holes take no room on the disk, and reading it would take longer than the test waits.
    const folder = await writeFolder(dataset, { sparse: { [name]: 2 * GIB } });
    await freshStart(page);
    await drop(page, folder);
    if (what === INSTANCE) {
      await page.waitForURL(/#\/instances\?files=another/);
      await page.goto(`${site.url}#/instance/${INSTANCE}?files=another`);
    }
    says(await problem(page), name, LARGE, /right file/);
    await removeFolder(folder);
    await untouched(page);
  }
  noFaults(faults);
  await context.close();
});

test("no byte of a dropped file of 2 GiB is read", async () => {
  const { context, page, faults } = await startPage();
  const reads = await page.evaluate(async () => {
    const piece = new Blob([new Uint8Array(64 << 20)]);
    const file = new File(Array(32).fill(piece), "predictions.json");
    let reads = 0;
    for (const name of ["slice", "arrayBuffer", "text", "stream"]) {
      const real = Blob.prototype[name];
      Blob.prototype[name] = function counted(...given) { reads += 1; return real.apply(this, given); };
    }
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(file);
    window.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    await new Promise((done) => setTimeout(done, 1000));
    return reads;
  });
  says(await problem(page), "predictions.json", LARGE, /right file/);
  assert.equal(reads, 0);
  await untouched(page);
  noFaults(faults);
  await context.close();
});

for (const announced of [true, false]) {
  test(`a host that sends 2 GiB ${announced ? "and says so" : "unannounced"} is cut off`, async () => {
    let sent = 0;
    const server = http.createServer((request, response) => {
      response.writeHead(200, { "access-control-allow-origin": "*", "content-type": "application/json", ...(announced && { "content-length": 2 * GIB }) });
      const piece = Buffer.alloc(1 << 20, " ");
      const more = () => {
        while (sent < 2 * GIB && !response.destroyed) {
          sent += piece.length;
          if (!response.write(piece)) return response.once("drain", more);
        }
        return response.end();
      };
      more();
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    const { context, page, faults } = await startPage();
    const address = `http://127.0.0.1:${server.address().port}/manifest.json`;
    await openAddress(page, address);
    says(await problem(page), address, /has more than 8388608 bytes/, /right file/);
    await untouched(page);
    const before = sent;
    await page.waitForTimeout(500);
    assert.equal(sent, before, "the host sends no more");
    console.log(`${announced ? "announced" : "unannounced"}: ${sent} bytes sent before it was cut off`);
    assert.ok(sent < 64 * 2 ** 20, `${sent} bytes were sent`);
    noFaults(faults);
    await context.close();
    server.closeAllConnections();
    server.close();
  });
}

test("a bad manifest does not take the place of the copy kept for offline", async () => {
  const { context, page } = await startPage();
  const dataset = copy();
  let manifest = dataset["manifest.json"];
  const host = await serveFiles((name) => (name === "manifest.json" ? manifest : dataset[name]));
  const address = `${host.url}manifest.json`;
  await openAddress(page, address);
  await page.waitForURL(/#\/instances\?/);
  manifest = Buffer.from("{ not JSON");
  await page.reload();
  says(await problem(page), "manifest.json", /is not JSON/, FAULTY);
  await host.close();
  await page.reload();
  await page.getByText("110 instances", { exact: true }).waitFor();
  await context.close();
});
