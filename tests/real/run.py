"""Asks a real llama.cpp server, and reads what it says with `lab decode` and `lab read`.

See README.md. LAB is the path of the native tool; with IBA_LAB_DIST, the built site is tested
against the server in Chromium as well.
"""

import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

import server as real

LAB = os.environ.get("LAB", "lab")
PAGE = "https://someone.github.io"
HERE = pathlib.Path(__file__).parent
failures = []


def check(name, holds, seen=""):
    print(("ok    " if holds else "FAILS ") + name + ("" if holds else f": {seen}"))
    if not holds:
        failures.append(name)


def post(url, body, headers=()):
    """Status, headers and bytes of a reply, of an error as well."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url + "/chat/completions", data, {"Content-Type": "application/json", "Origin": PAGE, **dict(headers)})
    try:
        with urllib.request.urlopen(request, timeout=300) as reply:
            return reply.status, dict(reply.headers), reply.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def lab(*arguments, data):
    done = subprocess.run([LAB, *arguments], input=data, capture_output=True, check=True)
    return json.loads(done.stdout)


def decode(status, data, stream=False):
    flags = ["--stream"] if stream else []
    return lab("decode", "--provider", "llamacpp", "--status", str(status), *flags, data=data)


def chat(text, **more):
    return {"model": "any", "messages": [{"role": "user", "content": text}], "max_tokens": 24, "temperature": 0, **more}


def wire(url):
    status, headers, data = post(url, chat("Say hello."))
    whole = decode(status, data)
    check("a whole reply is read", "reply" in whole and whole["reply"]["text"].strip(), whole)
    usage = whole["reply"].get("usage", {})
    check("its tokens are counted", usage.get("input", 0) > 0 and usage.get("output", 0) > 0, whole)
    check("its model is named without a folder", "/" not in whole["reply"]["model"], whole["reply"]["model"])
    check("the page's origin is let in", headers.get("Access-Control-Allow-Origin") == PAGE, headers)

    status, headers, data = post(url, chat("Say hello.", stream=True, stream_options={"include_usage": True}))
    streamed = decode(status, data, stream=True)
    check("a stream gives the same text", streamed.get("reply", {}).get("text") == whole["reply"]["text"], streamed)
    check("a stream counts its tokens", streamed["reply"].get("usage", {}).get("output") == usage.get("output"), streamed)
    for share in (0.2, 0.5, 0.8):
        cut = decode(status, data[: int(len(data) * share)], stream=True)
        check(f"a stream cut at {share:.0%} is no success", cut.get("error", {}).get("kind") == "stream_cut", cut)

    status, _, data = post(url, chat("Count from one to one hundred.", max_tokens=4))
    check("the output limit shows", decode(status, data)["reply"]["finish"] == "length")


def schema(url):
    item = {"type": "object", "properties": {"id": {"type": "string", "enum": ["1", "2", "3"]}, "score": {"type": "integer", "minimum": 0, "maximum": 10}}, "required": ["id", "score"], "additionalProperties": False}
    wanted = {"type": "object", "properties": {"scores": {"type": "array", "items": item, "minItems": 3, "maxItems": 3}}, "required": ["scores"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "scores", "schema": wanted, "strict": True}}
    status, _, data = post(url, chat("Score passages 1, 2 and 3 as JSON.", max_tokens=200, response_format=form))
    text = decode(status, data)["reply"]["text"]
    read = lab("read", "--as", "salience", "--expect", "3", data=text.encode())
    states = [item["state"] for item in read.get("value", [])]
    check("a JSON schema is kept to, and read", len(states) == 3 and "score" in states, (text, read))

    endless = {"type": "object", "properties": {"queries": {"type": "array", "items": {"type": "string", "minLength": 400}}}, "required": ["queries"]}
    form = {"type": "json_schema", "json_schema": {"name": "queries", "schema": endless}}
    status, _, data = post(url, chat("List queries as JSON.", max_tokens=60, response_format=form))
    text = decode(status, data)["reply"]["text"]
    read = lab("read", "--as", "queries", "--expect", "3", "--finish", "length", data=text.encode())
    flagged = read.get("error", {}).get("kind") == "cut" or read.get("truncated")
    check("JSON that was cut is flagged and not completed", flagged, (text, read))


def faults(url):
    status, headers, data = post(url, chat("word " * 5000))
    check("a prompt beyond the window is called so", decode(status, data).get("error", {}).get("kind") == "context_overflow", data[:200])
    check("errors let the page in, too", headers.get("Access-Control-Allow-Origin") == PAGE, headers)
    status, _, data = post(url, b'{"model": "any", "messages": [')
    check("a broken body is an error with a message", decode(status, data).get("error", {}).get("said"), (status, data[:200]))
    status, _, data = post(url, chat("hi", surprise=1, seed=7, max_completion_tokens=4))
    check("parameters that are not known do no harm", "reply" in decode(status, data), data[:200])


def preflight(url):
    headers = {"Origin": PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    request = urllib.request.Request(url + "/chat/completions", headers=headers, method="OPTIONS")
    with urllib.request.urlopen(request, timeout=30) as reply:
        allowed = reply.headers.get("Access-Control-Allow-Headers", "")
        check("the preflight passes", reply.status in (200, 204) and ("*" in allowed or "authorization" in allowed.lower()), dict(reply.headers))


def page(_url):
    if "IBA_LAB_DIST" not in os.environ:
        return print("skip  the built site (set IBA_LAB_DIST)")
    # A whole instance needs the window the model was trained with.
    _wide, address = real.start(8192)
    done = subprocess.run(["node", str(HERE / "page.mjs"), address], env=os.environ, capture_output=True, text=True)
    print(done.stdout)
    check("the built site takes an instance to the end", done.returncode == 0, done.stdout + done.stderr)


if __name__ == "__main__":
    running, address = real.start()
    for part in (wire, schema, faults, preflight, page):
        part(address)
    print(f"{len(failures)} failures")
    sys.stdout.flush()
    # The server's threads have no end of their own.
    os._exit(1 if failures else 0)
