"""Servers under bad conditions: what they refuse is refused whole, and scripts that they lose are loaded again."""

from contextlib import closing

import pytest

from mainstay.core.clock import SECOND
from mainstay.core.decide import completed
from mainstay.core.errors import ConfigError, SchemaMismatch, StoreFull, StoreReadOnly, StoreUnavailable
from mainstay.stores import open_store
from mainstay.stores.move import move
from tests.contract.building import draft, keyed, worker
from tests.servers.engines import redis_engines
from tests.servers.redis import DURABLE, Redis
from tests.waiting import eventually

NOW = 1_750_000_000_000
KINDS = [name for name in redis_engines() if name != "redis"]


@pytest.fixture(scope="module", params=KINDS)
def mistreated(request):
    with Redis(request.param, **DURABLE) as server:
        yield server


@pytest.fixture
def server(mistreated):
    """A server of these tests alone, without keys."""
    with closing(mistreated.client()) as client:
        client.flushall()
    return mistreated


@pytest.fixture
def client(server):
    with closing(server.client()) as client:
        yield client


@pytest.fixture
def store(server):
    with open_store(server.url()) as store:
        yield store


def everything(client):
    """Every key with its content."""
    return {key: client.dump(key) for key in client.keys("*")}


def test_a_server_that_forgot_the_scripts_is_told_them_again(store, client):
    notifier = store.notifier("w")
    store.enqueue([draft()], NOW)
    client.script_flush()
    assert notifier.wait(10_000) == "jobs"
    client.script_flush()
    assert len(store.find("", 9)) == 1
    store.enqueue([draft()], NOW)
    assert len(store.find("", 9)) == 2
    notifier.close()


def test_a_full_server_refuses_new_jobs_whole_and_goes_on_with_the_others(store, client):
    store.enqueue([draft() for _ in range(3)], NOW)
    store.register(worker("w", NOW))
    (first,) = store.claim("w", {"default": ["work"]}, 1, NOW).jobs
    before = everything(client)
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreFull, match="maxmemory"):
            store.enqueue([draft(tags=("t",)), keyed("k"), draft(run_at=NOW + SECOND)], NOW)
        assert everything(client) == before
        claims = store.claim("w", {"default": ["work"]}, 1, NOW, [completed(first, NOW)])
        assert (claims.verdicts, len(claims.jobs)) == (["stored"], 1)
        assert store.renew("w", NOW, 10_000).alive
        assert store.finish([completed(job, NOW) for job in claims.jobs]) == ["stored"]
    finally:
        client.config_set("maxmemory", 0)


def test_jobs_can_be_moved_away_from_a_full_server_but_not_into_one(store, client, tmp_path):
    store.enqueue([draft(), keyed("k")], NOW)
    with open_store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        client.config_set("maxmemory", 1)
        try:
            moved = move(store, other, lambda *_: None)
            client.flushall()
            with pytest.raises(StoreFull, match="maxmemory"):
                move(other, store, lambda *_: None)
            assert store.find("", 9) == []
        finally:
            client.config_set("maxmemory", 0)
        assert move(other, store, lambda *_: None) == moved
    assert len(store.find("", 9)) == 2


def test_a_server_that_would_throw_jobs_away_is_refused(server, client):
    client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(ConfigError, match="maxmemory-policy noeviction"):
            open_store(server.url()).types()
    finally:
        client.config_set("maxmemory-policy", "noeviction")


def test_a_newer_schema_is_refused(server, client):
    client.set("{mainstay}:schema", 99)
    with pytest.raises(SchemaMismatch, match="pip install -U mainstay"):
        open_store(server.url()).enqueue([draft()], NOW)
    assert client.keys("*") == [b"{mainstay}:schema"]


def test_a_replica_is_told_apart(store, client):
    store.enqueue([draft()], NOW)
    client.replicaof("127.0.0.1", 1)
    try:
        with pytest.raises(StoreReadOnly, match="primary"):
            store.enqueue([draft()], NOW)
    finally:
        client.replicaof("NO", "ONE")


def test_a_password_that_is_missing_or_wrong_is_named_as_such(server, client):
    client.config_set("requirepass", "right")
    try:
        with pytest.raises(StoreUnavailable, match="asks for a password"):
            open_store(server.url()).types()
        with pytest.raises(StoreUnavailable, match="refuses this user and password") as caught:
            open_store(server.url().replace("redis://", "redis://:wrong@")).types()
        assert "wrong@" not in str(caught.value)
        assert open_store(server.url().replace("redis://", "redis://:right@")).types() == []
    finally:
        client.config_set("requirepass", "")


def test_what_was_accepted_is_there_after_a_kill(server, store):
    accepted = [store.enqueue([draft()], NOW)[0][0] for _ in range(20)]
    server.kill()
    with pytest.raises(StoreUnavailable):
        store.enqueue([draft()], NOW)
    server.start()
    assert [job.id for job in store.get_many(accepted)] == accepted
    store.enqueue([draft()], NOW)


def test_a_bell_rings_again_once_the_server_is_back(server, store):
    notifier = store.notifier("w")
    assert notifier.wait(20) == ""
    server.kill()
    with pytest.raises(StoreUnavailable):
        notifier.wait(10_000)
    server.start()
    store.enqueue([draft()], NOW)
    eventually(lambda: notifier.wait(100) == "jobs", "the bell rings")
    notifier.close()


def test_the_durability_is_what_the_server_says(store, client):
    assert store.diagnostics()["durability"].startswith("power cut:")
    for setting, value, level in (("appendfsync", "everysec", "process crash:"), ("appendonly", "no", "none:")):
        client.config_set(setting, value)
        assert store.diagnostics()["durability"].startswith(level)
    client.config_set("appendonly", "yes")
    client.config_set("appendfsync", "always")


def test_a_server_without_config_says_that_it_does_not_tell(server, client):
    client.execute_command("ACL", "SETUSER", "guest", "on", ">pw", "~{mainstay}:*", "+@all", "-@dangerous", "+info")
    with open_store(server.url().replace("redis://", "redis://guest:pw@")) as store:
        store.enqueue([draft()], NOW)
        assert store.diagnostics()["durability"].startswith("unknown:")


def test_a_bell_that_died_leaves_nothing_for_ever(store, client):
    store.notifier("dead").wait(20)
    store.enqueue([draft()], NOW)
    assert client.smembers("{mainstay}:armed") == set()
    assert 0 < client.pttl("{mainstay}:bell:dead") <= 60_000
