// A fake OpenAI-compatible server: the real wire format, CORS and server-sent events, with a
// script of faults. It stands where the network ends; everything before it is the real site.
import http from "node:http";

/**
 * `answer(body, n)` returns the text (or {text, tools: [{name, arguments}]}) for the n-th chat call.
 * `faults` is a queue; each chat call takes one: null (behave), or
 * {status, headers, body} | {cutAfter: events} | {stall: true} | {noCors: true, status, body} | {text}.
 */
export async function startProvider({ answer, key = "sk-test-key-123456", models = ["fake-large", "fake-small"], faults = [], delayMs = 0 }) {
  const calls = [];
  const held = new Set();
  const state = { answer, faults, delayMs, key };
  const server = http.createServer((request, response) => {
    const cors = { "access-control-allow-origin": "*" };
    if (request.method === "OPTIONS") {
      response.writeHead(204, { ...cors, "access-control-allow-headers": "authorization,content-type", "access-control-allow-methods": "GET,POST" });
      return response.end();
    }
    let raw = "";
    request.on("data", (piece) => { raw += piece; });
    request.on("end", () => respond(request, response, raw, cors).catch((error) => { response.destroy(error); }));
  });
  async function respond(request, response, raw, cors) {
    const json = (status, body, headers = {}) => {
      response.writeHead(status, { "content-type": "application/json", ...cors, ...headers });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    };
    const authorised = request.headers.authorization === `Bearer ${state.key}`;
    if (!authorised) return json(401, { error: { message: "Incorrect API key provided: sk-****. You can find your key in the console.", type: "invalid_request_error", code: "invalid_api_key" } });
    if (request.url.endsWith("/models")) return json(200, { object: "list", data: models.map((id) => ({ id, object: "model" })) });
    if (!request.url.endsWith("/chat/completions")) return json(404, { error: { message: `unknown path ${request.url}` } });
    const body = JSON.parse(raw);
    const call = { body, headers: request.headers, at: Date.now() };
    calls.push(call);
    const fault = state.faults.shift() ?? null;
    if (fault?.status) {
      response.writeHead(fault.status, { "content-type": "application/json", ...(fault.noCors ? {} : cors), ...fault.headers });
      return response.end(fault.body ?? "");
    }
    if (state.delayMs) await new Promise((done) => setTimeout(done, state.delayMs));
    const given = fault?.text ?? state.answer(body, calls.length);
    const reply = { text: "", ...(typeof given === "string" ? { text: given } : given) };
    const tools = (reply.tools ?? []).map((tool, n) => ({ index: n, id: `call_${calls.length}_${n}`, type: "function",
      function: { name: tool.name, arguments: typeof tool.arguments === "string" ? tool.arguments : JSON.stringify(tool.arguments ?? {}) } }));
    const finish = tools.length ? "tool_calls" : "stop";
    call.reply = reply.text;
    const usage = { prompt_tokens: Math.ceil(JSON.stringify(body.messages).length / 4), completion_tokens: Math.ceil(reply.text.length / 4) };
    usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
    const base = { id: `chatcmpl-${calls.length}`, created: 1764000000, model: `${body.model}-2026-01` };
    if (!body.stream) {
      return json(200, { ...base, object: "chat.completion", usage,
        choices: [{ index: 0, finish_reason: finish, message: { role: "assistant", content: reply.text, ...(tools.length ? { tool_calls: tools } : {}) } }] });
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", ...cors });
    const event = (data) => response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
    const chunk = (delta, finish_reason = null) => event({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
    chunk({ role: "assistant", content: "" });
    if (fault?.stall) { held.add(response); return; }
    let sent = 0;
    for (const piece of reply.text.match(/[\s\S]{1,24}/g) ?? []) {
      if (fault?.cutAfter !== undefined && sent >= fault.cutAfter) return response.destroy();
      chunk({ content: piece });
      sent += 1;
      if (sent % 20 === 0) await new Promise((done) => setImmediate(done));
    }
    for (const { function: { name, arguments: text }, ...call } of tools) {
      chunk({ tool_calls: [{ ...call, function: { name, arguments: "" } }] });
      for (const piece of text.match(/[\s\S]{1,7}/g) ?? []) chunk({ tool_calls: [{ index: call.index, function: { arguments: piece } }] });
    }
    chunk({}, finish);
    if (body.stream_options?.include_usage) event({ ...base, object: "chat.completion.chunk", choices: [], usage });
    event("[DONE]");
    response.end();
  }
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref(); // a test that fails before it closes its server must not keep the others waiting
  const origin = `http://127.0.0.1:${server.address().port}`;
  return { url: `${origin}/v1`, origin, calls, state,
    close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }) };
}
