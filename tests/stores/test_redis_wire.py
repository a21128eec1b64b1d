"""Our own connections to a Redis server: login, TLS, silent servers, and what the garbage collector finds."""

import datetime as dt
import gc
import socket
import ssl
import threading
from contextlib import closing

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mainstay.core.errors import StoreUnavailable, UsageError
from mainstay.stores import open_store
from mainstay.stores.redis import connect
from mainstay.stores.redis.connect import Server
from mainstay.stores.redis.wire import Wire, pack
from tests.contract.building import draft
from tests.servers.engines import redis_engines
from tests.servers.proxy import Proxy
from tests.servers.redis import Redis

NOW = 1_750_000_000_000
KINDS = [name for name in redis_engines() if name != "redis"]
LARGE = 3_000_000  # bytes: many reads


@pytest.fixture(scope="module", params=KINDS)
def server(request):
    with Redis(request.param) as server:
        yield server


def opened(url):
    """A server of ours with a connection that has been used."""
    server = Server(url)
    server.command("PING")
    return server


def rest(server, seconds):
    """Have the idle connections rest for some seconds."""
    server._idle = [(wire, used - seconds) for wire, used in server._idle]


def test_the_database_of_the_url_is_used(server):
    with closing(server.client()) as client, open_store(server.url().removesuffix("/0") + "/3") as store:
        store.enqueue([draft()], NOW)
        assert "db3" in client.info("keyspace")
        client.select(3)
        client.flushdb()


def test_a_database_that_is_not_there_is_refused(server):
    with pytest.raises(Exception, match="out of range"):
        Server(server.url().removesuffix("/0") + "/999").command("PING")


def test_a_large_value_comes_back_whole(server):
    mine = opened(server.url())
    text = "ü" * LARGE
    assert mine.commands([("SET", "{mainstay}:x", text), ("GET", "{mainstay}:x"), ("DEL", "{mainstay}:x")]) == [
        "OK",
        text,
        1,
    ]
    mine.close()


@pytest.mark.parametrize("value", [None, [1], "\ud800"])
def test_a_value_that_cannot_be_sent_is_refused_and_nothing_is_sent(server, value):
    mine = opened(server.url())
    with pytest.raises(UsageError, match="cannot be stored"):
        mine.commands([("PING",), ("SET", "{mainstay}:x", value)])
    assert mine.command("PING") == "PONG"
    mine.close()


def test_replies_of_any_split_are_read():
    ours, its = socket.socketpair()
    wire = Wire(ours, 5)
    for byte in b"+OK\r\n$3\r\nabc\r\n*2\r\n:1\r\n$-1\r\n-ERR no\r\n":
        its.sendall(bytes([byte]))
    assert wire.arrived(5)
    assert [wire.read(), wire.read(), wire.read(), str(wire.read())] == ["OK", "abc", [1, None], "no"]
    assert not wire.arrived(0)
    its.close()
    assert wire.arrived(5)
    wire.close()


def test_a_peer_that_speaks_another_protocol_is_unreachable():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        greeter = threading.Thread(target=greet, args=(listener, b"220 mail.example ESMTP\r\n"))
        greeter.start()
        with pytest.raises(StoreUnavailable, match="Protocol error"):
            Server(f"redis://127.0.0.1:{listener.getsockname()[1]}/0").command("PING")
        greeter.join()


def greet(listener, words):
    connection, _ = listener.accept()
    connection.sendall(words)
    connection.recv(1)
    connection.close()


def test_a_server_that_is_silent_counts_as_gone(server):
    with Proxy(server.port) as proxy:
        mine = opened(f"redis://127.0.0.1:{proxy.port}/0?socket_timeout=0.2")
        proxy.halt()  # it is half-open
        with pytest.raises(StoreUnavailable, match="timed out"):
            mine.command("PING")
        mine.close()


def test_a_connection_that_ended_while_idle_is_not_used(server):
    with Proxy(server.port) as proxy:
        mine = opened(f"redis://127.0.0.1:{proxy.port}/0")
        proxy.drop()
        rest(mine, 2 * connect.FRESH)
        assert mine.command("PING") == "PONG"
        mine.close()


def test_a_connection_that_was_idle_for_long_is_tested_before_it_is_used(server):
    with Proxy(server.port) as proxy:
        mine = opened(f"redis://127.0.0.1:{proxy.port}/0?socket_timeout=0.2&health_check_interval=20")
        proxy.halt()
        rest(mine, 30)
        assert mine.command("PING") == "PONG"
        mine.close()


def test_a_connection_that_nobody_has_is_closed():
    ours, its = socket.socketpair()
    wire = Wire(ours, 5)
    wire.itself = wire  # garbage of the kind that an exception makes
    del wire, ours
    gc.collect()
    assert its.recv(1) == b""
    its.close()


# TLS --------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost, which signs itself, and its key, in one file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name, day = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")]), dt.timedelta(1)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem) + key.private_bytes(pem, *form))
    return path


@pytest.fixture
def secure(server, certificate):
    """The port of a proxy with TLS in front of the server, which wants a certificate of its clients too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    with Proxy(server.port, context=context) as proxy:
        yield proxy.port


def test_a_connection_with_tls(secure, certificate):
    url = f"rediss://localhost:{secure}/0?prefix=tls&ssl_ca_certs={certificate}&ssl_certfile={certificate}"
    with open_store(url) as store:
        ids = [store.enqueue([draft(payload='"' + "x" * 400_000 + '"')], NOW)[0][0] for _ in range(2)]
        assert [job.id for job in store.get_many(ids)] == ids
        store.server._idle = [(wire, used - 1) for wire, used in store.server._idle]
        before = store.server._idle[0][0]
        assert len(store.find("", 9)) == 2
        assert store.server._idle[0][0] is before  # what TLS itself sends does not count as the end of a connection
        notifier = store.notifier("w")
        assert notifier.wait(50) == ""
        store.notify()
        assert notifier.wait(10_000) == "jobs"
        notifier.close()
        store.delete(ids, NOW, "me")


def test_a_certificate_that_nobody_vouches_for_is_refused(secure):
    with pytest.raises(StoreUnavailable, match=r"(?i)certificate"):
        open_store(f"rediss://localhost:{secure}/0").types()


def test_a_certificate_of_another_host_is_refused(secure, certificate):
    url = f"rediss://127.0.0.1:{secure}/0?ssl_ca_certs={certificate}"
    with pytest.raises(StoreUnavailable, match=r"(?i)certificate"):
        open_store(url).types()
    with open_store(url + "&ssl_check_hostname=no") as store:
        assert store.types() == []


def test_no_certificate_is_checked_if_the_url_says_so(secure):
    with open_store(f"rediss://127.0.0.1:{secure}/0?ssl_cert_reqs=none") as store:
        assert store.types() == []


def test_packed_commands_are_what_the_protocol_says():
    assert pack([("GET", "é"), ("INCRBY", b"x", 5)]) == (
        b"*2\r\n$3\r\nGET\r\n$2\r\n\xc3\xa9\r\n*3\r\n$6\r\nINCRBY\r\n$1\r\nx\r\n$1\r\n5\r\n"
    )
