// Serves the built site as a plain static host would: under a subpath, gzip for text, no special
// headers. Counts requests and bytes, and can misbehave on command.
import http from "node:http";
import fs from "node:fs/promises";
import path from "node:path";
import zlib from "node:zlib";

const TYPES = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".mjs": "text/javascript",
  ".wasm": "application/wasm", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml",
  ".gz": "application/gzip", ".md": "text/markdown", ".png": "image/png", ".webmanifest": "application/manifest+json",
};
const COMPRESSED = new Set([".html", ".js", ".wasm", ".css", ".json", ".svg"]);

/** Starts a static host for `root` below `prefix`. `overrides` maps a path below the prefix to a handler. */
export async function serveSite({ root, prefix = "/some/sub/path/", overrides = {} }) {
  const log = [];
  const packed = new Map();
  const server = http.createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    const relative = url.pathname.startsWith(prefix) ? decodeURIComponent(url.pathname.slice(prefix.length)) || "index.html" : null;
    const entry = { path: relative ?? url.pathname, bytes: 0, status: 200 };
    log.push(entry);
    const send = (status, body, headers = {}) => {
      entry.status = status;
      entry.bytes = body.length;
      response.writeHead(status, headers);
      response.end(body);
    };
    if (relative === null || relative.includes("..")) return send(404, "not found");
    if (overrides[relative]) return overrides[relative](request, response, send);
    try {
      const file = path.join(root, relative);
      const extension = path.extname(file);
      const headers = { "content-type": TYPES[extension] ?? "application/octet-stream" };
      let body = await fs.readFile(file);
      if (COMPRESSED.has(extension) && /gzip/.test(request.headers["accept-encoding"] ?? "")) {
        if (!packed.has(file)) packed.set(file, zlib.gzipSync(body, { level: 9 }));
        body = packed.get(file);
        headers["content-encoding"] = "gzip";
      }
      send(200, body, headers);
    } catch {
      send(404, "not found", { "content-type": "text/html" });
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref(); // a test that fails before it closes its server must not keep the others waiting
  const url = `http://127.0.0.1:${server.address().port}${prefix}`;
  return { url, log, overrides, close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }) };
}

/**
 * Serves `files` (path -> {body, headers, status} or Buffer) from another origin, with or without CORS;
 * `before` a file is sent, what it gives for its name is waited for.
 */
export async function serveFiles(files, { cors = true, before = () => {} } = {}) {
  const log = [];
  const server = http.createServer(async (request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://localhost").pathname.slice(1));
    log.push(name);
    await before(name);
    const headers = cors ? { "access-control-allow-origin": "*" } : {};
    const found = typeof files === "function" ? files(name) : files[name];
    if (!found) { response.writeHead(404, headers); return response.end("not found"); }
    const { body = found, status = 200, headers: extra = {} } = Buffer.isBuffer(found) || typeof found === "string" ? {} : found;
    response.writeHead(status, { ...headers, ...extra });
    // Fewer bytes than were promised: the connection ends early.
    if (Number(extra["content-length"]) > body.length) return response.write(body, () => setTimeout(() => response.destroy(), 100));
    response.end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref(); // a test that fails before it closes its server must not keep the others waiting
  return { url: `http://127.0.0.1:${server.address().port}/`, log, close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }) };
}
