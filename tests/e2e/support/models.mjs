// Hosts of embedding models and a fake embedding endpoint, both with faults on command.
import http from "node:http";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";

/**
 * Serves the folder of a model from another origin. `faults` by file name: `missing`, `html`, `corrupt`,
 * `declared` (the size that is told before anything is fetched), `replace` (a pair of texts of equal length),
 * `cut` (so many bytes of the first answers, then the connection breaks), `pad` (bytes added to the end),
 * `slow` (milliseconds before the body comes). `packs` sends JSON as gzip to those who take it, and tells
 * pages of other sites nothing of that; `exposed` names headers that they may see; `others` are files by
 * other names. `ranges` can be `"refused"`: a host that answers 416 to every part.
 */
export async function serveModel(folder, { cors = true, ranges = true, faults = {}, etag = null, packs = false, exposed = "", others = {} } = {}) {
  const log = [], state = { etag, cors, ranges, faults };
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://localhost").pathname.slice(1));
    const entry = { name, method: request.method, range: request.headers.range, status: 200 };
    log.push(entry);
    const headers = state.cors ? { "access-control-allow-origin": "*" } : {};
    if (exposed) headers["access-control-expose-headers"] = exposed;
    const end = (status, more = {}, body) => { entry.status = status; response.writeHead(status, { ...headers, ...more }); response.end(request.method === "HEAD" ? undefined : body); };
    const fault = state.faults[path.basename(name)] ?? {};
    if (request.method === "OPTIONS") return end(403);
    if (fault.html) return end(200, { "content-type": "text/html" }, "<!doctype html><p>Sign in</p>");
    const file = path.join(folder, others[name] ?? name);
    if (fault.missing || !name || !fs.existsSync(file) || fs.statSync(file).isDirectory()) return end(404, {}, "not found");
    let body = fs.readFileSync(file);
    if (fault.corrupt) { body = Buffer.from(body); body.fill(0xff, 0, 64); }
    if (fault.replace) body = Buffer.from(body.toString("latin1").replaceAll(...fault.replace), "latin1");
    if (fault.declared && request.method === "HEAD") return end(200, { "content-length": fault.declared });
    if (fault.pad) body = Buffer.concat([body, Buffer.alloc(fault.pad)]);
    const known = { "content-type": "application/octet-stream", "last-modified": "Sat, 28 Nov 2026 10:00:00 GMT" };
    if (state.etag) { known.etag = state.etag; delete known["last-modified"]; }
    if (state.ranges === "refused" && request.headers.range) return end(416, { "content-range": `bytes */${body.length}` });
    const isOther = request.headers["if-range"] && request.headers["if-range"] !== state.etag && request.headers["if-range"] !== known["last-modified"];
    if (packs && name.endsWith(".json") && /gzip/.test(request.headers["accept-encoding"] ?? "")) {
      const packed = zlib.gzipSync(body, { level: 9 });
      entry.packed = packed.length;
      return end(200, { ...known, "content-type": "application/json", "content-encoding": "gzip", "content-length": packed.length }, packed);
    }
    const asked = state.ranges === true && !isOther && /^bytes=(\d+)-$/.exec(request.headers.range ?? "");
    const start = asked ? Number(asked[1]) : 0;
    const part = body.subarray(start);
    const status = asked ? 206 : 200;
    if (asked) known["content-range"] = `bytes ${start}-${body.length - 1}/${body.length}`;
    if (fault.cut && fault.times !== 0 && request.method === "GET") {
      fault.times = (fault.times ?? 1) - 1;
      entry.status = status;
      response.writeHead(status, { ...headers, ...known, "content-length": part.length });
      response.write(part.subarray(0, fault.cut), () => setTimeout(() => response.destroy(), 100));
      return;
    }
    const send = () => end(status, { ...known, "content-length": part.length }, part);
    if (fault.slow && request.method === "GET") return setTimeout(send, fault.slow);
    send();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref(); // a test that fails before it closes its server must not keep the others waiting
  return { url: `http://127.0.0.1:${server.address().port}/`, log, state, close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }) };
}

/** A vector of a text that depends on its letters only. */
function vector(text, dim) {
  const out = new Array(dim).fill(0);
  for (const [at, letter] of [...text.toLowerCase()].entries()) out[(letter.charCodeAt(0) * 7 + at % 3) % dim] += 1;
  return out;
}

/** An OpenAI-compatible `/embeddings`; `misbehave(body, number)` may return a whole answer instead. */
export async function serveEmbeddings({ dim = 24, most = Infinity, misbehave = () => null } = {}) {
  const log = [], state = { misbehave };
  const server = http.createServer(async (request, response) => {
    const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "authorization, content-type" };
    if (request.method === "OPTIONS") { response.writeHead(204, headers); return response.end(); }
    let text = "";
    for await (const piece of request) text += piece;
    const body = text ? JSON.parse(text) : {};
    log.push({ path: new URL(request.url, "http://localhost").pathname, body, key: request.headers.authorization });
    const send = (status, value) => { response.writeHead(status, { ...headers, "content-type": "application/json" }); response.end(JSON.stringify(value)); };
    const odd = await state.misbehave(body, log.length);
    if (odd) return send(odd.status ?? 200, odd.body);
    if (!Array.isArray(body.input)) return send(400, { error: { message: "input is missing" } });
    if (body.input.length > most) return send(413, { error: { message: `batch size ${body.input.length} is larger than ${most}` } });
    // In another order than asked for, every second one in base64.
    const data = body.input.map((input, index) => {
      const floats = vector(input, dim);
      const embedding = index % 2 ? Buffer.from(new Float32Array(floats).buffer).toString("base64") : floats;
      return { object: "embedding", index, embedding };
    }).reverse();
    send(200, { object: "list", model: body.model, data, usage: { prompt_tokens: body.input.join(" ").length >> 2, total_tokens: body.input.join(" ").length >> 2 } });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref(); // a test that fails before it closes its server must not keep the others waiting
  return { url: `http://127.0.0.1:${server.address().port}/v1`, log, state, close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }) };
}

/** What waits for embedding models may take on a busy machine, in milliseconds. */
const PATIENCE = 120_000;

/** Looks at the address of a model in Settings. */
export async function lookAtModel(page, site, url) {
  await page.goto(`${site.url}#/settings`);
  const field = page.locator("#model-address");
  await page.getByText("Add a model", { exact: true }).waitFor({ timeout: PATIENCE });
  if (!(await field.isVisible())) await page.getByText("Add a model", { exact: true }).click();
  await field.fill(url);
  await page.getByRole("button", { name: "Look", exact: true }).click();
  await page.locator(".found, .model-work .problem").first().waitFor({ timeout: PATIENCE });
}

/** What is said of a model once nothing is done any more; nothing when it went well. */
export async function modelOutcome(page) {
  await page.waitForFunction(() => {
    const work = document.querySelector(".model-work");
    return work && !work.querySelector("progress");
  }, null, { timeout: PATIENCE });
  return (await page.locator(".model-work").innerText()).trim();
}

/** Takes the model that was found; the answer is that of modelOutcome. */
export async function takeModel(page) {
  await page.locator(".found .primary").click({ timeout: PATIENCE });
  return modelOutcome(page);
}
