// Measures what a visitor waits for, in headless Chromium: medians of several fresh and several
// warm visits, and the sizes that go over the wire.
import { serveSite } from "./support/site.mjs";
import { launch, openPage } from "./support/browser.mjs";
import { CALL_INSTANCE, openInstance, run } from "./support/steps.mjs";

const ROUNDS = Number(process.argv[2] ?? 3);
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const browser = await launch();
const site = await serveSite({ root: process.env.IBA_LAB_DIST });
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
  "engine, compressed (bytes)": site.log.filter((entry) => /^worker.*\.(js|wasm)$/.test(entry.path)).reduce((sum, entry) => sum + entry.bytes, 0),
  "everything of a first run (bytes)": median(weights),
});
await browser.close();
await site.close();
