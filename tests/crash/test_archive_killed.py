"""A process that is killed while it archives and removes jobs: each job is in the store or whole in the archive, at any moment."""

import os
import subprocess
import sys
import zlib

import pytest

from mainstay.core import jsonl
from mainstay.core.draft import Draft
from mainstay.stores import open_store
from tests.contract.building import COMPLETED, transition, worker

JOBS = 600
PROGRAM = """
import sys
from mainstay.core.events import Events
from mainstay.stores import open_store
from mainstay.upkeep import prune
from mainstay.upkeep.archive import open_archive

prune.ARCHIVED, prune.HOLD, now = 50, 1, int(sys.argv[3])
chore = prune.Prune(open_store(sys.argv[1]), Events(), open_archive(sys.argv[2]))
while True:
    now += 10  # what a killed process holds is free again
    chore.step(now)
    print("step", flush=True)
"""


@pytest.fixture
def filled(tmp_path):
    """The URL of a store with completed jobs whose retention is over, their ids, and the present."""
    url, now = f"sqlite:///{tmp_path}/jobs.db", 1_750_000_000_000
    with open_store(url) as store:
        store.register(worker("w", now))
        made = store.enqueue([Draft("work", f'{{"n":{n}}}', keep=0) for n in range(JOBS)], now)
        jobs = store.claim("w", {"default": ["work"]}, JOBS, now).jobs
        store.finish([transition(job, COMPLETED, now) for job in jobs])
    return url, {job for job, _ in made}, now


def archived(folder):
    """The jobs of all whole lines in an archive, also of files whose end is cut off."""
    found = []
    for file in folder.glob("*.gz"):
        data, text = file.read_bytes(), b""
        while data:
            member = zlib.decompressobj(wbits=31)
            text += member.decompress(data)
            data = member.unused_data if member.eof else b""
        found += [jsonl.parse(line) for line in text.decode().splitlines(keepends=True) if line.endswith("\n")]
    return [history.job.id for history in found if history is not None]


@pytest.mark.slow
def test_no_job_is_lost_whenever_the_process_is_killed(filled, tmp_path):
    url, jobs, now = filled
    for round in range(12):
        given = [sys.executable, "-c", PROGRAM, url, str(tmp_path / "old"), str(now + 100_000 * round)]
        with subprocess.Popen(given, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
            for _ in range(round % 4):
                process.stdout.readline()
            process.kill()
        with open_store(url) as store:
            left = set(store.find("", JOBS + 1))
        assert left | set(archived(tmp_path / "old")) == jobs
    assert len(left) < JOBS
    given[-1] = str(now + 10_000_000)
    with subprocess.Popen(given, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        for _ in range(JOBS // 20):
            process.stdout.readline()
        process.kill()
    with open_store(url) as store:
        assert store.find("", 9) == []
    assert set(archived(tmp_path / "old")) == jobs
