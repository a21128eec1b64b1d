"""A server that stands still for longer than a lease: workers that come back are not dead, those that do not are."""

import signal
import threading
import time

import pytest

from mainstay.stores import open_store
from mainstay.upkeep.sweep import Sweep
from tests.contract.building import draft, worker
from tests.servers.redis import DURABLE, Redis

pytestmark = pytest.mark.slow
LEASE = 1_000  # ms; it ends while the server stands still
STALL = 4.5  # seconds


class Quiet:
    def emit(self, name, **fields):
        pass


def now():
    return time.time_ns() // 1_000_000


@pytest.fixture(scope="module")
def server():
    with Redis("valkey", **DURABLE) as server:
        yield server


@pytest.fixture
def store(server, monkeypatch, tmp_path):
    """A store on this server; no file tells which workers of this machine live."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with open_store(server.url(prefix=tmp_path.name.replace("_", ""))) as store:
        yield store


@pytest.fixture
def job(store):
    """A job that a worker runs, with one attempt and two crashes behind it, and a sweep that has just found nothing."""
    store.register(worker("w", now(), LEASE))
    (created,) = store.enqueue([draft(max_attempts=1)], now())
    (job,) = store.claim("w", {"default": ["work"]}, 1, now()).jobs
    assert job.id == created[0]
    store.local_workers.release("w")
    assert store.orphans(now(), 0, 9) == []
    return job


def stand_still(server):
    server.signal(signal.SIGSTOP)
    threading.Event().wait(STALL)
    server.signal(signal.SIGCONT)


def swept(store):
    Sweep(store, lambda: 0.0, Quiet(), 1).step(now())


def test_a_lease_that_nobody_could_renew_goes_on(server, store, job):
    stand_still(server)
    assert store.orphans(now(), 0, 9) == []
    assert store.renew("w", now(), LEASE).alive
    assert store.get(job.id).state == "running"


def test_a_renewal_that_comes_first_is_accepted(server, store, job):
    stand_still(server)
    assert store.renew("w", now(), LEASE).alive


def test_a_worker_that_comes_back_and_drops_its_jobs_costs_them_no_crash_and_no_attempt(server, store, job):
    stand_still(server)
    store.deregister("w")  # as it does before it registers under a new identity
    swept(store)
    found = store.get(job.id)
    assert (found.state, found.crashes, found.attempt) == ("queued", 0, 0)


def test_a_worker_that_does_not_come_back_is_dead_a_while_later(server, store, job):
    from mainstay.stores.redis import script

    go_on = 5_000
    assert f"GO_ON = {go_on}" in script.load("orphans").text
    stand_still(server)
    swept(store)
    assert store.get(job.id).state == "running"
    deadline = time.monotonic() + 4 * go_on / 1000
    while store.get(job.id).state == "running" and time.monotonic() < deadline:
        threading.Event().wait(0.5)
        swept(store)
    assert store.get(job.id).crashes == 1
