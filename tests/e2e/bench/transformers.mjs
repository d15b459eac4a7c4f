// transformers.js on the same model files, served from here: the whole way of a query.

/** Served path to path below the folder of the rivals' packages. */
export const RIVAL_FILES = {
  "tfjs/transformers.js": "@huggingface/transformers/dist/transformers.min.js",
  "tfjs/ort-wasm-simd-threaded.asyncify.mjs": "@huggingface/transformers/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.mjs",
  "tfjs/ort-wasm-simd-threaded.asyncify.wasm": "@huggingface/transformers/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.wasm",
  "tfjs/ort-wasm-simd-threaded.mjs": "@huggingface/transformers/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.mjs",
  "tfjs/ort-wasm-simd-threaded.wasm": "@huggingface/transformers/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm",
};

/** Runs in the page: loads tokenizer and model into transformers.js. */
export async function setUpTransformers({ base }) {
  const { AutoModel, AutoTokenizer, env } = await import(`${base}tfjs/transformers.js`);
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.useBrowserCache = false;
  env.localModelPath = `${new URL(base).pathname}models/`; // joined as a path, so no scheme
  env.backends.onnx.wasm.wasmPaths = `${base}tfjs/`;
  env.backends.onnx.wasm.numThreads = 1;
  const name = "all-minilm-l6-v2";
  const tokenizer = await AutoTokenizer.from_pretrained(name);
  const model = await AutoModel.from_pretrained(name, { subfolder: "", model_file_name: "model", dtype: "int8", device: "wasm" });
  window.bench.transformers = async (text) => {
    const out = await model(await tokenizer(text, { truncation: true, max_length: 256 }));
    return out.sentence_embedding.data;
  };
}

/**
 * Runs in the page, alternately: a query of words embedded and its three nearest passages found among
 * `count`, by the engine, and by transformers.js with a scan over floats. `agree` counts equal first hits.
 */
export async function wholeQueries({ rounds, count, dim }) {
  const { worker, words, transformers } = window.bench;
  const bytes = new Uint8Array(16 + count * (16 + dim)), view = new DataView(bytes.buffer);
  bytes.set([73, 66, 65, 86]);
  [1, dim, count].forEach((value, n) => view.setUint32(4 + 4 * n, value, true));
  const rows = new Int8Array(bytes.buffer, 16 + count * 16).map(() => Math.random() * 255 - 127);
  new Int8Array(bytes.buffer, 16 + count * 16).set(rows);
  const floats = new Float32Array(count * dim);
  for (let row = 0; row < count; row += 1) {
    view.setUint32(16 + row * 12, row, true);
    view.setFloat32(16 + count * 12 + row * 4, 1 / 1400, true);
    for (let n = 0; n < dim; n += 1) floats[row * dim + n] = rows[row * dim + n] / 1400;
  }
  await worker.ask({ type: "collect", key: "whole", part: "bench" }, [bytes.buffer]);
  const ours = async (text) => {
    const { vectors } = await worker.ask({ type: "embed", texts: [text] });
    const { hits } = await worker.ask({ type: "search_collection", key: "whole", vectors, top_k: 3, method: "exact" });
    return hits[0].map((hit) => hit.span.session);
  };
  const theirs = async (text) => {
    const query = await transformers(text);
    const best = [];
    for (let row = 0; row < count; row += 1) {
      let score = 0;
      for (let n = 0, at = row * dim; n < dim; n += 1, at += 1) score += floats[at] * query[n];
      if (best.length < 3 || score > best[2].score) { best.push({ row, score }); best.sort((a, b) => b.score - a.score); best.length = Math.min(best.length, 3); }
    }
    return best.map(({ row }) => row);
  };
  const times = { ours: [], theirs: [], agree: 0 };
  for (let round = -3; round < rounds; round += 1) {
    const text = Array.from({ length: 24 }, () => words[Math.floor(Math.random() * words.length)][0]).join(" ");
    let from = performance.now();
    const mine = await ours(text);
    const middle = performance.now();
    const other = await theirs(text);
    if (round < 0) continue;
    times.ours.push(middle - from);
    times.theirs.push(performance.now() - middle);
    times.agree += Number(mine[0] === other[0]);
  }
  return times;
}
