"""Measures how long each GET of the HTTP API takes, on a store with many jobs.

python -m bench.pages --engine sqlite --jobs 1000000     fills a store, then prints a line for each path
python -m bench.pages --url sqlite:///jobs.db            looks at a store that there is, and changes nothing

A tenth of the jobs waits, one in 200 is dead, the rest has completed (`bench.looking`). The paths come from the table of operations. Each is
called in turn, in this process, and nothing is taken from a cache. A path with the id of a job is called for a job that waits, one that is
dead and one that has completed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from starlette.testclient import TestClient

from mainstay import Mainstay
from mainstay.core.job import TypeInfo, WorkerInfo
from mainstay.core.rules import SCHEDULE
from mainstay.web.asgi import application, operations
from mainstay.web.roles import ADMIN, Access
from mainstay.web.site import Site

from .contenders.mainstay_jobs import url
from .engines import ENGINES, engine
from .figures import quantile
from .looking import TYPES, fill

if TYPE_CHECKING:
    from collections.abc import Iterator

BAR = 100  # milliseconds that a page may take
SCHEDULES, WORKERS, ACTIONS = 50, 10, 2_000
HOUR = 3_600_000
QUERIES = {"/api/schedules/next": "?cron=0+4+*+*+1-5&tz=Europe/Berlin", "/api/jobs/suggest": "?q=type:"}
EXPECTED = (200, 503)  # an installation without workers is unhealthy


class Took(NamedTuple):
    """How many bytes the last reply of a path had, how long its calls took, and how long this process worked for them, in milliseconds."""

    path: str
    status: int
    size: int
    times: list[float]
    worked: list[float]


def main(words: list[str]) -> int:
    """Print the figures; return 1 if a path fails or takes too long."""
    given = _arguments(words)
    with nullcontext(given.url) if given.url else filled(given.engine, given.jobs) as address:
        app = Mainstay(address)
        found = measure(app, given.rounds)
        app.close()
    print(f"{'path':56}{'status':>7}{'bytes':>10}{'p50 ms':>9}{'p95 ms':>9}{'cpu ms':>9}")
    for path, status, size, times, worked in found:
        half, most, busy = quantile(times, 0.50), quantile(times, 0.95), quantile(worked, 0.50)
        print(f"{path:56}{status:7}{size:10,}{half:9.1f}{most:9.1f}{busy:9.1f}{'  !' * (most > BAR)}")
    return int(any(each.status not in EXPECTED or quantile(each.times, 0.95) > BAR for each in found))


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description="Measures the pages of the HTTP API.")
    parser.add_argument("--engine", choices=ENGINES, default="sqlite")
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--url", help="a store that is filled already")
    return parser.parse_args(words)


@contextmanager
def filled(name: str, jobs: int) -> Iterator[str]:
    """Yield the URL of a store with so many jobs, schedules, workers and actions."""
    with tempfile.TemporaryDirectory() as folder, engine(name) as server:
        site = server.site(Path(folder) / "pages")
        app = Mainstay(url(site.address))
        fill(app, jobs)
        furnish(app)
        app.close()
        server.flush(site)
        yield url(site.address)


def furnish(app: Mainstay) -> None:
    """Add what an installation has beside jobs: types, workers, schedules with jobs, and lines in the audit trail."""
    now, types = int(time.time() * 1_000), tuple(f"t{n}" for n in range(TYPES))
    app.store.register_types([TypeInfo(type, "default", f"{type}(n: int)", {}, now) for type in types])
    for n in range(WORKERS):
        app.store.register(WorkerInfo(f"w-{n}", "here", 1, 50, ("default",), types, now, now, now + HOUR, 0, False))
        app.store.claim(f"w-{n}", {"default": list(types)}, 50, now)
    for n in range(SCHEDULES):
        app.create_schedule(f"s{n}", app.prepare(f"t{n % TYPES}", {"n": n}), cron=f"{n} 4 * * *", tz="Europe/Berlin")
        for _ in range(3):
            app.run_schedule(f"s{n}")
    for n in range(ACTIONS):
        app.set_setting(f"setting{n % 20}", n, actor=f"person{n % 7}")


def measure(app: Mainstay, rounds: int) -> list[Took]:
    """Return how long each path took."""
    site = Site(app, lambda _: Access(ADMIN, actor="bench"))
    with TestClient(application(site), raise_server_exceptions=False) as client:
        found = {path: Took(path, 0, 0, [], []) for path in paths(app)}
        for _ in range(rounds):
            for path, before in found.items():
                site.recent.forget()
                found[path] = _called(client, before)
    return sorted(found.values())


def _called(client: TestClient, before: Took) -> Took:
    begun, busy = time.perf_counter_ns(), time.process_time_ns()
    reply = client.get(before.path)
    took, worked = (time.perf_counter_ns() - begun) / 1e6, (time.process_time_ns() - busy) / 1e6
    status = max(reply.status_code, before.status)
    return Took(before.path, status, len(reply.content), [*before.times, took], [*before.worked, worked])


def paths(app: Mainstay) -> list[str]:
    """Return the paths of all GETs that reply at once: without names, and of jobs, types and schedules that there are."""
    jobs = [app.search(f"state:{state}", 1).ids for state in ("queued", "dead", "completed")]
    named = {
        "/api/jobs/{id}": [id for ids in jobs for id in ids],
        "/api/types/{name}": [each.name for each in app.types()[:1]],
        "/api/schedules/{name}": [rule.name for rule in app.store.rules([SCHEDULE])[:1]],
    }
    found = []
    for each in operations():
        if each.method == "GET" and each.media != "text/event-stream":
            stem = next((stem for stem in named if each.path.startswith(stem)), "")
            values = named[stem] if stem else [] if "{" in each.path else [""]
            found += [stem.partition("{")[0] + value + each.path.removeprefix(stem) for value in values]
    return [path + QUERIES.get(path, "") for path in found if path != "/api/live"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
