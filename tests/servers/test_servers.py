"""The tests' own servers: they end with whoever wanted them, they can be mistreated, and what is missing is said."""

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.servers import postgres, session, wheels
from tests.servers.postgres import Postgres
from tests.servers.process import shared
from tests.servers.proxy import Proxy
from tests.servers.redis import DURABLE, Redis
from tests.waiting import eventually

OWNER = """
import os, signal
from tests.servers import session
from tests.servers.redis import Redis
from tests.servers.process import shared
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background ignores it
server = shared(lambda *a: Redis("valkey", *a), "valkey")
print(server.pid, session.folder(), flush=True)
signal.pause()
"""


def gone(pid):
    """Whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_with_its_owner_however_that_ends(number):
    """Its files too."""
    environment = {name: value for name, value in os.environ.items() if name != session.VARIABLE}
    root = Path(__file__).parents[2]
    environment["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, sys.path)])
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with owner:
        server, folder = owner.stdout.readline().split()
        assert not gone(int(server))
        owner.send_signal(number)
    eventually(lambda: gone(int(server)), "the server ends")
    eventually(lambda: not Path(folder).exists(), "its files are removed")


def test_the_servers_of_a_session_are_the_same_to_all_its_processes():
    one, two = (shared(lambda *where: Redis("valkey", *where), "valkey") for _ in range(2))
    assert (one.port, one.pid) == (two.port, two.pid)
    with closing(two.client()) as client:
        assert client.ping()


def test_postgres_is_restarted_killed_and_cleared_of_its_clients():
    with Postgres("18") as server:
        server.run("CREATE TABLE kept (n integer)")
        server.run("INSERT INTO kept VALUES (1)")
        server.restart()
        with psycopg.connect(server.url()) as served:
            server.kill()
            with pytest.raises(psycopg.OperationalError):
                served.execute("SELECT 1")
        server.start()
        assert server.run("SELECT n FROM kept") == [(1,)]
        with psycopg.connect(server.url()) as client:
            assert server.terminate() == 1
            with pytest.raises(psycopg.OperationalError):
                client.execute("SELECT 1")
        assert postgres.run(server.socket_url(), "SELECT 1") == [(1,)]
    assert not server.folder.exists()


def test_postgres_starts_again_when_the_processes_of_a_killed_server_end_late():
    with Postgres("18") as server:
        [(late,)] = server.run("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        os.kill(late, signal.SIGSTOP)
        server.kill()
        with ThreadPoolExecutor() as pool:
            start = pool.submit(server.start)
            eventually(lambda: postgres.IN_USE in server.log(), "the start is refused")
            os.kill(late, signal.SIGCONT)
            start.result()
        assert server.run("SELECT 1") == [(1,)]


def test_a_durable_redis_keeps_what_it_acknowledged_when_it_is_killed():
    with Redis("valkey", **DURABLE) as server:
        with closing(server.client()) as client:
            client.set("kept", "1")
        server.restart()
        with closing(server.client()) as client:
            assert client.get("kept") == b"1"


def test_a_server_that_cannot_start_says_why():
    server = Redis("valkey", nonsense="1")
    with pytest.raises(RuntimeError, match="nonsense"):
        server.start()


def test_a_missing_wheel_is_named_with_what_to_do():
    with pytest.raises(wheels.Missing, match=r"no-such-wheel.*dev\.py setup(?s:.*)MAINSTAY_TEST_REDIS"):
        wheels.place("no_such_wheel", "no-such-wheel", "Valkey", "MAINSTAY_TEST_REDIS")


def test_programs_that_others_cannot_reach_are_copied_with_their_libraries(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "enterable", lambda path: False)
    monkeypatch.setattr(session, "folder", lambda: tmp_path / "session")
    for name in ("session", "pack/tree/bin", "pack.libs"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "pack/tree/bin/program").touch()
    (tmp_path / "pack.libs/library").touch()
    found = wheels.reachable(tmp_path / "pack/tree", tmp_path / "pack.libs")
    assert (found / "bin/program").exists()
    assert (found.parents[1] / "pack.libs/library").exists()


# the proxy --------------------------------------------------------------------------------------------------------
@pytest.fixture
def echo():
    """A proxy before a server that answers every byte with the same."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server, Proxy(server.getsockname()[1]) as proxy:
        client = socket.create_connection(("127.0.0.1", proxy.port), timeout=5)
        far, _ = server.accept()
        far.settimeout(5)
        with closing(client), closing(far):
            yield proxy, client, far


def passes(client, far):
    client.sendall(b"x")
    return far.recv(1) == b"x"


def test_what_goes_in_comes_out(echo):
    _, client, far = echo
    assert passes(client, far)
    assert passes(far, client)
    far.close()
    assert client.recv(1) == b""


def test_a_dropped_connection_is_reset(echo):
    proxy, client, far = echo
    assert passes(client, far)
    assert proxy.drop() == 1
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    assert proxy.count() == 0


def test_a_half_open_connection_tells_neither_side(echo):
    proxy, client, far = echo
    assert passes(client, far)
    assert proxy.halt() == 1
    client.sendall(b"x")
    client.close()
    far.settimeout(0.2)
    with pytest.raises(TimeoutError):
        far.recv(1)


def test_a_delayed_connection_passes_everything_in_the_end(echo):
    proxy, client, far = echo
    assert passes(client, far)
    proxy.delay(0.2)
    client.sendall(b"late")
    assert far.recv(4) == b"late"
