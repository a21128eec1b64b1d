"""BullMQ on Node, installed by npm into a folder that the run removes; bullmq.mjs is its producer and its worker."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import Contender, Stored

VERSION = "6.7.0"
CLIENT = "ioredis@5.11.1"
PROGRAM = Path(__file__).with_name("bullmq.mjs")
VARIABLE = "BENCH_BULLMQ"  # a folder with BullMQ in its node_modules, where it need not be fetched
PREFIX = "bull:bench:"


@functools.cache
def installed() -> tuple[str, str]:
    """The program beside an installed BullMQ, or why there is none."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "", "left out: it needs node and npm on the path"
    folder = os.environ.get(VARIABLE) or _fetched()
    if not (Path(folder) / "node_modules" / "bullmq").exists():
        return "", f"left out: npm could not fetch bullmq@{VERSION}"
    program = shutil.copy(PROGRAM, folder)  # node looks for packages beside the program
    return str(program), ""


def _fetched() -> str:
    folder = tempfile.mkdtemp(prefix="mainstay-bench-node-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    packages = [f"bullmq@{VERSION}", CLIENT]
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, *packages]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return folder


class BullMQ(Contender):
    """BullMQ."""

    engine = "redis"
    name = "bullmq"
    about = (
        f"{VERSION} on Node with {CLIENT}, concurrency 100, completed jobs kept; a mark is a write to a file, some µs"
    )
    durability = "appendfsync as stated"
    pace = 0.5
    several = False

    def missing(self) -> str:
        return installed()[1]

    def producer(self, address: str, action: str, count: int) -> list[str]:
        return ["node", installed()[0], address, action, str(count)]

    def count(self, address: str) -> Stored:
        import redis

        with redis.Redis.from_url(address) as client:
            return Stored(client.llen(PREFIX + "wait"), client.zcard(PREFIX + "completed"))

    def workers(self, address: str, processes: int) -> list[list[str]]:
        return [["node", installed()[0], address, "work", "0"]] * processes
