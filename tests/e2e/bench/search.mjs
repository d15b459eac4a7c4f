// Searches as the worker does them, and how fast the bytes could be read at all.

/** Sums memory 64 bytes at a time (16-byte blocks as four lanes); exports `memory` and `sum(from, blocks)`. */
export const SUM = "AGFzbQEAAAABBwFgAn9/AX8DAgEABQMBAAEGEAN/AUEQC38AQRALfwBBEAsHKwQGbWVtb3J5AgADc3VtAAAKX19kYXRhX2VuZAMBC19faGVhcF9iYXNlAwIKywEByAEDAXsBfwN7AkACQCABDQD9DAAAAAAAAAAAAAAAAAAAAAAhAgwBC0EAIQP9DAAAAAAAAAAAAAAAAAAAAAAiAiEEIAIhBSACIQYDQCAA/QAAACAG/a4BIQYgAEEwav0AAAAgAv2uASECIABBIGr9AAAAIAT9rgEhBCAAQRBq/QAAACAF/a4BIQUgAEHAAGohACADQQRqIgMgAUkNAAsgBSAG/a4BIAT9rgEgAv2uASECCyAC/RsAIAL9GwFzIAL9GwJzIAL9GwNzCw==";

/** Runs in the page: milliseconds that a plain SIMD sum over so many bytes takes. */
export async function bandwidth({ bytes, rounds, code }) {
  const { instance } = await WebAssembly.instantiate(Uint8Array.from(atob(code), (c) => c.charCodeAt(0)));
  const { memory, sum } = instance.exports;
  memory.grow(Math.ceil(bytes / 65536));
  new Uint8Array(memory.buffer, 65536).fill(3);
  const times = [];
  // Small sums many times over, so that the clock can tell them.
  const repeat = Math.max(1, Math.round(8e7 / bytes));
  for (let round = -2; round < rounds; round += 1) {
    const from = performance.now();
    for (let n = 0; n < repeat; n += 1) sum(65536, bytes / 16);
    if (round >= 0) times.push((performance.now() - from) / repeat);
  }
  return times;
}

/** Runs in the page: the time of six queries whose vectors are known, over so many passages. */
export async function searches({ count, dim, rounds }) {
  const { worker } = window.bench;
  const bytes = new Uint8Array(16 + count * (12 + 4 + dim));
  const view = new DataView(bytes.buffer);
  bytes.set([73, 66, 65, 86]);
  [1, dim, count].forEach((value, n) => view.setUint32(4 + 4 * n, value, true));
  for (let row = 0; row < count; row += 1) {
    view.setUint32(16 + row * 12 + 8, 4, true);
    view.setFloat32(16 + count * 12 + row * 4, 1 / 1400, true);
  }
  const rows = new Int8Array(bytes.buffer, 16 + count * 16);
  for (let at = 0; at < rows.length; at += 1) rows[at] = Math.random() * 255 - 127;
  const sessions = [{ id: "s1", date: "2025-01-01T10:00:00", turns: [{ role: "user", text: "a passage" }] }];
  const key = `bench-${count}`;
  await worker.ask({ type: "open_history", key, sessions, chunking: { tokens: 256, overlap: 50 }, shipped_vectors: true }, [bytes.buffer]);
  const queries = ["dinner", "travel plans", "tone of emails", "running", "gifts", "music at work"];
  await worker.ask({ type: "embed", texts: queries });
  const times = [];
  for (let round = -1; round < rounds; round += 1) {
    const from = performance.now();
    await worker.ask({ type: "search", key, queries, top_k: 3, method: "exact" });
    if (round >= 0) times.push((performance.now() - from) / queries.length);
  }
  // The whole way of six new queries: embedded together, then searched.
  const whole = [];
  for (let round = 0; round < rounds; round += 1) {
    const fresh = queries.map((query) => `${query}: what would this user want, number ${round} of ${count}?`);
    const from = performance.now();
    await worker.ask({ type: "search", key, queries: fresh, top_k: 3, method: "exact" });
    whole.push(performance.now() - from);
  }
  await worker.ask({ type: "close_history", key });
  return { times, whole };
}

/**
 * Runs in the page: builds the graph over IBA-Mini's own vectors, and, where more are wanted, over
 * vectors that differ from them as two others differ. Asks it the benchmark's tasks, vectors that
 * were made the same way and left out, and texts that have nothing to do with any passage.
 */
export async function graph({ count, leftOut, strangers, base }) {
  const { worker, startWorker } = window.bench, dim = 384;
  const folder = `${base}datasets/iba-mini/`;
  const manifest = await (await fetch(`${folder}manifest.json`)).json();
  const floats = [];
  for (const file of Object.values(manifest.embeddings[0].files)) {
    const view = new DataView(await (await fetch(folder + file.path)).arrayBuffer());
    const rows = view.getUint32(12, true);
    for (let row = 0; row < rows; row += 1) {
      const scale = view.getFloat32(16 + rows * 12 + row * 4, true);
      floats.push(Float32Array.from({ length: dim }, (_, n) => view.getInt8(16 + rows * 16 + row * dim + n) * scale));
    }
  }
  let seed = 42;
  const below = (most) => { seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; return Math.floor((seed / 2 ** 32) * most); };
  const vector = (row) => {
    const own = floats[row % floats.length];
    if (row < floats.length) return own;
    const [a, b] = [floats[below(floats.length)], floats[below(floats.length)]];
    const varied = own.map((value, n) => value + 0.6 * (a[n] - b[n])), length = Math.hypot(...varied);
    return varied.map((value) => value / length);
  };
  const bytes = new Uint8Array(16 + count * (16 + dim)), view = new DataView(bytes.buffer);
  bytes.set([73, 66, 65, 86]);
  [1, dim, count].forEach((value, n) => view.setUint32(4 + 4 * n, value, true));
  for (let row = 0; row < count; row += 1) {
    const values = vector(row), scale = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127;
    view.setUint32(16 + row * 12, row, true);
    view.setFloat32(16 + count * 12 + row * 4, scale, true);
    for (let n = 0; n < dim; n += 1) view.setInt8(16 + count * 16 + row * dim + n, Math.round(values[n] / scale));
  }
  const unpacked = new Response((await fetch(folder + manifest.index.path)).body.pipeThrough(new DecompressionStream("gzip")));
  const tasks = (await unpacked.text()).trim().split("\n").map((line) => JSON.parse(line).instruction);
  const embed = async (texts) => (await worker.ask({ type: "embed", texts })).vectors;
  const queries = { tasks: await embed(tasks), "vectors left out": Array.from({ length: leftOut }, (_, n) => [...vector(count + n)]), "texts unlike any": await embed(strangers) };
  const own = await startWorker();
  await own.ask({ type: "collect", key: "all", part: "bench" }, [bytes.buffer]);
  const search = async (vectors, method) => {
    const request = { type: "search_collection", key: "all", vectors, top_k: 10, method };
    await own.ask(request);
    const times = [];
    let hits;
    for (let round = 0; round < 5; round += 1) {
      const from = performance.now();
      ({ hits } = await own.ask(request));
      times.push((performance.now() - from) / vectors.length);
    }
    return { ms: times.sort((a, b) => a - b)[2], rows: hits.map((list) => list.map((hit) => hit.span.session)) };
  };
  const params = { ef_construction: 100, ef_search: Math.min(1000, Math.max(200, Math.floor(Math.sqrt(3 * count)))), seed: 42 };
  const built = await own.ask({ type: "build_graph", key: "all", params });
  const found = {};
  for (const name in queries) {
    const [exact, near] = [await search(queries[name], "exact"), await search(queries[name], "hnsw")];
    const met = exact.rows.flatMap((rows, n) => rows.filter((row) => near.rows[n].includes(row))).length;
    found[name] = { exact: exact.ms, graph: near.ms, recall: met / exact.rows.flat().length };
  }
  own.end();
  return { seconds: built.millis / 1000, found };
}
