"""Serve a language model on a port of this machine until the process ends: `llama.py FILE PORT`.

The one module that knows xllamacpp, whose names change between releases.
"""

import signal
import sys

import xllamacpp

CONTEXT = 2048  # tokens, of the question and the answer


def main(path, port):
    """Start the server and wait for a signal."""
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel, params.warmup, params.verbosity = path, CONTEXT, 1, False, 0
    params.model_alias = {"local"}
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0  # the same answer every time
    params.hostnames, params.port = ["127.0.0.1"], int(port)
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
