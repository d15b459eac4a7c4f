// A model of BGE-M3's shape (tests/python/shaped_model.py --preset bge-m3): how long a query takes,
// and what memory, in our engine and in onnxruntime-web on the same file.

/** What is served of the model's folder. */
export const SHAPED_FILES = ["model.onnx", "tokenizer.json"];

/** Runs in the page: loads the model into one of the two and embeds a query of 32 tokens; the median. */
export async function shaped({ who, base, rounds }) {
  const { startWorker } = window.bench;
  const fetched = async (name) => fetch(`${base}shaped/${name}`);
  const words = ["dinner", "at", "seven", "the", "meeting", "was", "moved", "to", "friday", "on", "a", "walk", "in", "rain", "tea", "music"];
  let from = performance.now(), query, memory, end;
  if (who === "ours") {
    const worker = await startWorker();
    const answer = await fetched("model.onnx");
    const of = Number(answer.headers.get("content-length"));
    // Pieces, so that no more than one copy of the file is ever held.
    let first = true, held = [], size = 0, total = 0;
    const send = async () => {
      const piece = new Uint8Array(size);
      held.reduce((at, part) => { piece.set(part, at); return at + part.length; }, 0);
      await worker.ask({ type: "model_piece", first, of }, [piece.buffer]);
      [first, held, size] = [false, [], 0];
    };
    for (const reader = answer.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (value) { held.push(value); size += value.length; total += value.length; }
      if (size > (1 << 24) || (done && size > 0)) await send();
      if (done) break;
    }
    await worker.ask({ type: "load_model", name: "shaped", max_tokens: 8192, pooling: "cls", pieces: [{ name: "model.onnx", bytes: total }] },
      [await (await fetched("tokenizer.json")).arrayBuffer()]);
    // The words of the small tokenizer are one token each; two special tokens come to them.
    query = (round) => worker.ask({ type: "embed", texts: [Array.from({ length: 30 }, (_, n) => words[(n * 7 + round) % 16]).join(" ")] });
    memory = worker.memory;
    end = worker.end;
  } else {
    const made = [], { Memory } = WebAssembly;
    WebAssembly.Memory = class extends Memory { constructor(wanted) { super(wanted); made.push(this); } };
    // A copy of its own of the runtime, so that its memory holds this model only.
    const own = await import(`${base}ort/ort.wasm.min.mjs?shaped`);
    own.env.wasm.numThreads = 1;
    own.env.wasm.wasmPaths = `${base}ort/`;
    const session = await own.InferenceSession.create(new Uint8Array(await (await fetched("model.onnx")).arrayBuffer()), { graphOptimizationLevel: "all" });
    WebAssembly.Memory = Memory;
    query = (round) => {
      const tensor = (values) => new own.Tensor("int64", values, [1, 32]);
      const ids = BigInt64Array.from({ length: 32 }, (_, n) => BigInt(n === 0 ? 0 : n === 31 ? 2 : 5 + ((n * 7 + round) % 16)));
      return session.run({ input_ids: tensor(ids), attention_mask: tensor(new BigInt64Array(32).fill(1n)) });
    };
    memory = async () => made.reduce((sum, each) => sum + each.buffer.byteLength, 0);
    end = () => session.release();
  }
  const load = performance.now() - from;
  const times = [];
  for (let round = -1; round < rounds; round += 1) {
    from = performance.now();
    await query(round + 1);
    if (round >= 0) times.push(performance.now() - from);
  }
  const found = { load, query: times.sort((a, b) => a - b)[times.length >> 1], memory: await memory() };
  await end();
  return found;
}
