"""Runs in each producer and worker of `--against`: checks the imported package, then does what the commit's own bench does.

python -m one_side ENGINE CONTENDER ADDRESS ACTION COUNT     a producer
mainstay worker --app one_side:app                           a worker
"""

import os
import sys

import mainstay

if mainstay.__file__ != os.environ["BENCH_PACKAGE"]:
    sys.exit(f"imported {mainstay.__file__}, not {os.environ['BENCH_PACKAGE']}")

if "BENCH_DB" in os.environ:
    from bench.contenders.mainstay_jobs import app  # noqa: F401 -- the worker loads it from here

if __name__ == "__main__":
    from bench.producer import main

    main(*sys.argv[1:])
