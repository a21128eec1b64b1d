"""Several servers that act as one: a cluster, and a primary that sentinels know. Also the clock of a server."""

from contextlib import closing

import pytest

from mainstay.core.clock import DAY, HOUR, SECOND
from mainstay.core.decide import completed
from mainstay.core.errors import LeaseLost, StoreUnavailable
from mainstay.stores import open_store
from tests.contract.building import draft, keyed, worker
from tests.servers.engines import redis_engines
from tests.servers.process import free_port
from tests.servers.redis import Redis
from tests.waiting import eventually

NOW = 1_750_000_000_000
KINDS = [name for name in redis_engines() if name != "redis"]
SLOTS = 16_384
CLUSTER_BUS = 10_000  # so far above the port of its clients a node listens to other nodes


class Sentinel(Redis):
    """A sentinel that watches over one server."""

    def __init__(self, kind, watched):
        super().__init__(kind)
        self.watched = watched

    def program(self):
        lines = [f"port {self.port}", "bind 127.0.0.1", f"sentinel monitor shop 127.0.0.1 {self.watched} 1"]
        (self.folder / "sentinel.conf").write_text("\n".join(lines), encoding="ascii")
        (self.folder / "sentinel.conf").chmod(0o666)
        return [self._binary(), str(self.folder / "sentinel.conf"), "--sentinel"]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def cluster(kind):
    """A cluster of one node that has every slot."""
    port = free_port(above=CLUSTER_BUS)
    with Redis(kind, port=port, cluster_enabled="yes") as server, closing(server.client()) as client:
        client.execute_command("CLUSTER", "ADDSLOTS", *range(SLOTS))
        eventually(lambda: b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO"), "the cluster serves")
        yield server


@pytest.fixture(scope="module")
def watched(kind):
    """A server that a sentinel watches over."""
    with Redis(kind) as server:
        yield server


@pytest.fixture(scope="module")
def sentinel(kind, watched):
    """The sentinel that tells where the server is."""
    with Sentinel(kind, watched.port) as sentinel:
        yield sentinel


def live(store):
    """Run some jobs from end to end, with everything that a job can have."""
    store.enqueue([draft(tags=("a",), tenant="t"), keyed("k"), draft(run_at=NOW + 9**13)], NOW)
    store.register(worker("w", NOW, HOUR))
    notifier = store.notifier("w")
    store.notify()
    assert notifier.wait(10_000) == "jobs"
    jobs = store.claim("w", {"default": ["work"], "other": ["x", "y"]}, 9, NOW).jobs
    assert len(jobs) == 2
    assert store.finish([completed(job, NOW) for job in jobs]) == ["stored", "stored"]
    assert len(store.ended(0, 9)[0]) == 2
    assert ("work", "completed", 2) in [each[1:] for each in store.totals()]
    assert len(store.search([], 9, None, NOW).ids) == 3
    assert set(store.delete([job.id for job in jobs], NOW, "me").values()) == {"deleted"}
    notifier.close()


def test_a_cluster(cluster):
    url = cluster.url(prefix="shop").replace("redis://", "redis+cluster://")
    with open_store(url) as store:
        live(store)


def test_a_node_that_has_every_slot_serves_like_any_server(cluster):
    with open_store(cluster.url(prefix="alone")) as store:
        live(store)


def test_a_server_that_sentinels_know(sentinel):
    url = f"redis+sentinel://127.0.0.1:{sentinel.port}/shop/0?prefix=shop"
    with open_store(url) as store:
        live(store)
        assert store.diagnostics()["role"] == "master"


def test_a_service_that_no_sentinel_knows(sentinel):
    with pytest.raises(StoreUnavailable, match="elsewhere"):
        open_store(f"redis+sentinel://127.0.0.1:{sentinel.port}/elsewhere/0").types()


# the server's clock -----------------------------------------------------------------------------------------------
@pytest.fixture
def store(watched):
    with closing(watched.client()) as client:
        client.flushall()
    with open_store(watched.url()) as store:
        yield store


@pytest.mark.parametrize("wrong", [0, 10 * 365 * DAY])
def test_a_lease_goes_by_the_servers_clock_whatever_the_workers_clock_says(store, wrong):
    store.register(worker("w", wrong, HOUR))
    store.enqueue([draft()], wrong)
    assert store.renew("w", wrong + DAY, HOUR).alive
    assert store.orphans(wrong + DAY, 0, 9) == []
    assert len(store.claim("w", {"default": ["work"]}, 1, wrong + 2 * DAY).jobs) == 1
    (info,) = store.workers()
    assert info.expires_at - info.beat_at == HOUR


def test_a_lease_that_the_server_saw_end_is_over(store):
    store.register(worker("w", 0, 0))
    assert not store.renew("w", 0, HOUR).alive
    with pytest.raises(LeaseLost):
        store.claim("w", {"default": ["work"]}, 1, 0)


def test_a_job_is_due_when_the_server_says_so(store):
    server_now = int(float(store.server.command("TIME")[0])) * SECOND
    store.register(worker("w", 0, HOUR))
    store.enqueue([draft(run_at=server_now - HOUR), draft(run_at=server_now + HOUR)], 0)
    claims = store.claim("w", {"default": ["work"]}, 9, 10**15)
    assert len(claims.jobs) == 1
    assert HOUR - 60 * SECOND < claims.wait <= HOUR
