"""Measures what open pages of the dashboard cost: processor time of the server, of a worker, and how late a change is seen.

python -m bench.open_pages [--engine sqlite] [--pages 500] [--changes 100] [--seconds 15]

A server, a worker and a producer are processes of their own. The pages are streams of `api/live`, all of the overview and of the newest jobs,
as a browser opens them. The worker runs the same jobs without pages before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mainstay import Mainstay

from .contenders.mainstay_jobs import url
from .engines import ENGINES, engine
from .figures import quantile
from .processes import ROOT, family_ticks, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

PATHS = ("/api/overview", "/api/counts", "/api/jobs?limit=50")
WORKER = [sys.executable, "-m", "mainstay", "worker", "--app", "bench.contenders.page_jobs:app", "--log-level", "error"]  # fmt: skip


class Page:
    """One open stream: how many answers came, and when the newest job was first seen in one."""

    def __init__(self) -> None:
        self.answers = self.bytes = 0
        self.seen: dict[str, float] = {}

    async def read(self, host: str, port: int) -> None:
        """Read the stream until it is cancelled."""
        reader, writer = await asyncio.open_connection(host, port, limit=2**24)
        query = "&".join(f"path={quote(path, safe='')}" for path in PATHS)
        writer.write(f"GET /api/live?{query} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        try:
            while line := await reader.readline():
                self.bytes += len(line)
                if line.startswith(b"data: "):
                    self.answers += 1
        finally:
            writer.close()


async def opened(pages: list[Page], host: str, port: int, during: Any) -> Any:
    """Open pages, wait until each has its first answers, and return what happens `during` that."""
    tasks = [asyncio.create_task(page.read(host, port)) for page in pages]
    while any(page.answers < len(PATHS) for page in pages):
        await asyncio.sleep(0.05)
        for task in tasks:
            if task.done():
                task.result()
    try:
        return await asyncio.to_thread(during)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def produce(app: Mainstay, changes: int, duration: float) -> int:
    """Enqueue so many jobs a second, one by one; return how many."""
    begun, made = time.monotonic(), 0
    while (spent := time.monotonic() - begun) < duration:
        if made < spent * changes:
            app.enqueue("noop", {})
            made += 1
        else:
            time.sleep(0.002)
    return made


def measured(app: Mainstay, pids: dict[str, int], changes: int, duration: float) -> dict[str, float]:
    """Produce for a while; return the part of a core that each process used."""
    before = {name: family_ticks(pid) or 0 for name, pid in pids.items()}
    begun = time.monotonic()
    made = produce(app, changes, duration)
    spent = time.monotonic() - begun
    used = {name: (seconds((family_ticks(pid) or 0) - before[name]) or 0.0) / spent for name, pid in pids.items()}
    return used | {"changes a second": made / spent}


@contextmanager
def process(words: list[str], **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a process of mainstay inside a `with`."""
    started = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | environment)
    try:
        yield started
    finally:
        started.terminate()
        started.communicate(timeout=30)


def main(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the figures."""
    with tempfile.TemporaryDirectory() as folder, engine(arguments.engine) as server:
        address = server.site(Path(folder) / "pages").address
        app = Mainstay(url(address))
        app.enqueue("noop", {})
        serve = [sys.executable, "-m", "mainstay", "serve", "--port", "0", "--url", url(address)]
        with process(WORKER, MAINSTAY_URL=url(address)) as worker, process(serve) as site:
            port = int(site.stdout.readline().split("127.0.0.1:")[1].split("/")[0])  # type: ignore[union-attr]
            pids = {"server": site.pid, "worker": worker.pid}
            alone = measured(app, pids, arguments.changes, arguments.seconds)
            pages = [Page() for _ in range(arguments.pages)]
            during = lambda: measured(app, pids, arguments.changes, arguments.seconds)  # noqa: E731
            with_pages = asyncio.run(opened(pages, "127.0.0.1", port, during))
        app.close()
    answers = [page.answers for page in pages]
    return {
        "engine": arguments.engine, "pages": arguments.pages, "changes a second": with_pages["changes a second"],
        "server, cores": with_pages["server"], "server without pages, cores": alone["server"],
        "worker to itself without pages": with_pages["worker"] / alone["worker"] if alone["worker"] else None,
        "answers a page, fewest": min(answers), "answers a page, median": quantile(list(map(float, answers)), 0.5),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ENGINES, default="sqlite")
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=15)
    print(json.dumps(main(parser.parse_args()), indent=2))
