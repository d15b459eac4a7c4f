// Measures what a visitor waits for, in headless Chromium: medians of several fresh and several
// warm visits, and the sizes that go over the wire; then the engine by itself (bench/engine.mjs).
// `node bench.mjs ROUNDS [engine|page]`; IBA_LAB_DYNAMIC names a model that onnxruntime quantises
// dynamically, made by tests/python/dynamic_int8.py; IBA_LAB_SHAPED a folder that
// tests/python/shaped_model.py made with `--preset bge-m3` (570 MB); IBA_LAB_BENCH_GRAPH how many vectors are linked
// to a graph (5000; 200000 take the better part of an hour).
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { benchEngine, engineOverrides } from "./bench/engine.mjs";
import { CALL_INSTANCE, openInstance, run } from "./support/steps.mjs";

const ROUNDS = Number(process.argv[2] ?? 3);
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const ONLY = process.argv[3];
const root = process.env.IBA_LAB_DIST, dynamic = process.env.IBA_LAB_DYNAMIC, large = process.env.IBA_LAB_SHAPED;
const browser = await launch();
const site = await serveSite({ root, overrides: engineOverrides(dynamic, large) });
if (ONLY !== "engine") await benchPage();
if (ONLY !== "page") {
  const table = await benchEngine(browser, site, { rounds: ROUNDS * 3, dynamic: Boolean(dynamic), large: Boolean(large), root });
  console.table(Object.fromEntries(table.map(({ what, value }) => [what, value])));
}
await browser.close();
await site.close();

async function benchPage() {
  const cold = [], warm = [], weights = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { context, page } = await openPage(browser);
    site.log.length = 0;
    await openInstance(page, site, CALL_INSTANCE);
    const timed = async () => { const from = Date.now(); await run(page); return Date.now() - from; };
    cold.push(await timed());
    weights.push(site.log.reduce((sum, entry) => sum + entry.bytes, 0));
    warm.push(await timed());
    await context.close();
  }
  const own = site.log.filter((entry) => /^(index\.html|boot\.js|app.*\.(js|wasm)|.*\.css)$/.test(entry.path));
  console.table({
    "click to verdicts, first visit (ms)": median(cold),
    "click to verdicts, engine warm (ms)": median(warm),
    "page, compressed (bytes)": own.reduce((sum, entry) => sum + entry.bytes, 0),
    "engine, compressed (bytes)": site.log.filter((entry) => /^(worker|relaxed).*\.(js|wasm)$/.test(entry.path)).reduce((sum, entry) => sum + entry.bytes, 0),
    "everything of a first run (bytes)": median(weights),
  });
}
