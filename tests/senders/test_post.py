"""The signed sender: it reaches what it may reach and nothing else, and no receiver can hold it up or fill its memory."""

import base64
import hashlib
import hmac
import socket
import ssl
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from threading import Event

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mainstay.core.errors import AddressRefused, ConfigError, SendFailed
from mainstay.senders import addresses
from mainstay.senders.addresses import parsed, resolved
from mainstay.senders.post import MOST, post, seconds_of
from mainstay.senders.signature import signed

from .receiving import receiver

LOCAL = ["127.0.0.0/8"]
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def hook():
    with receiver() as found:
        yield found


# signature ----------------------------------------------------------------------------------------------------------------
def test_the_signature_is_that_of_standard_webhooks():
    made = signed(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert made == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@pytest.mark.parametrize(
    "secret", ["", "hunter2", "whsec_", "whsec_hunter2!", "whsec_c2hvcnQ=", SECRET.removeprefix("whsec_")]
)
def test_a_secret_that_is_none_is_refused_and_not_shown(secret):
    with pytest.raises(ConfigError, match="whsec_ and 24 to 64 random bytes") as caught:
        signed(secret, "m", 1, b"")
    assert "hunter2" not in str(caught.value)


# what is sent -------------------------------------------------------------------------------------------------------------
def test_what_arrives(hook):
    body = b'{"a": "\xc3\xa4"}'
    headers = signed(SECRET, "inc_1", 1_700_000_000, body)
    assert post(hook.url, body, {"Content-Type": "application/json", **headers}, allow=LOCAL).status == 204
    (got,) = hook.got
    assert (got.path, got.body) == ("/hook?x=1", body)
    assert got.headers["Host"] == f"127.0.0.1:{hook.server.server_address[1]}"
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    expected = hmac.digest(key, b"inc_1.1700000000." + got.body, hashlib.sha256)
    assert got.headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()


@pytest.mark.parametrize(
    "headers", [{"X-A": "b\r\nX-C: d"}, {"X\r\nA": "b"}, {"": "b"}, {"X-A": "ä"}, {"X A": "b"}, {"X-A": "\0"}]
)
def test_a_header_that_would_be_two_is_refused(hook, headers):
    with pytest.raises(AddressRefused, match="header"):
        post(hook.url, b"", headers, allow=LOCAL)
    assert hook.got == []


# where it may go ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/", "file:///etc/passwd", "gopher://example.com", "//example.com", "example.com", "", "http://",
        "http://:80/", "http://ada@example.com/", "http://ada:pw@example.com/", "http://127.0.0.1@example.com/",
        "http://example.com@127.0.0.1/", "http://example.com\\@127.0.0.1/", "http://exa mple.com/", "http://example.com/\r\nX: y",
        "http://example.com/\0", "http://example.com:0/", "http://example.com:99999/", "http://example.com:x/",
        "http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.1/",
        "http://017700000001/", "http://127.0.0.1.1/", "http://1.2.3.256/", "http://[::1%25eth0]/", "http://[fe80::1%eth0]/",
        "http://[::1/", "http://[v1.a]/", "http://exa%6dple.com/", "http://example..com/", "http://ex_ä\u2028.com/", "http://①②⑦.1/",
        "http://example.com/ä",
    ],
)  # fmt: skip
def test_a_url_that_can_be_read_in_two_ways_is_refused(url):
    with pytest.raises(AddressRefused):
        parsed(url)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[fe80::1]",
        "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::]", "[64:ff9b::7f00:1]",
        "[64:ff9b::169.254.169.254]", "[fec0::1]", "[2001:0:a00:1::1]", "１２７.０.０.１", "localhost", "LOCALHOST",
    ],
)  # fmt: skip
def test_an_address_inside_is_refused(host):
    with pytest.raises(AddressRefused, match="inside this network"):
        resolved(parsed(f"http://{host}/"), (), 5)


@pytest.mark.parametrize("host", ["8.8.8.8", "[2001:4860:4860::8888]", "[64:ff9b::808:808]", "[::ffff:8.8.8.8]"])
def test_a_public_address_is_allowed(host):
    assert resolved(parsed(f"https://{host}/"), (), 5).addresses


@pytest.mark.parametrize(
    "allow", [["127.0.0.1"], ["127.0.0.0/8"], ["127.0.0.1/8"], ["LocalHost", "::1"], ["10.0.0.0/8", "::1", "127.0.0.1"]]
)
def test_what_is_allowed_is_reached(allow):
    host = "localhost" if "LocalHost" in allow else "127.0.0.1"
    assert resolved(parsed(f"http://{host}/"), allow, 5).addresses


def test_one_address_inside_is_enough_to_refuse_a_name(monkeypatch):
    answers(monkeypatch, "8.8.8.8", "169.254.169.254")
    with pytest.raises(AddressRefused, match=r"169\.254\.169\.254"):
        post("http://both.example/", b"", {})


def answers(monkeypatch, *found):
    """Let the resolver answer so to each name; return the names that it was asked for."""
    asked, real = [], socket.getaddrinfo

    def resolve(host, port, *rest, **options):
        if not host.endswith(".example"):
            return real(host, port, *rest, **options)
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", resolve)
    return asked


def test_a_name_is_resolved_once_so_that_it_cannot_be_rebound(monkeypatch, hook):
    connected = []
    monkeypatch.setattr(socket, "create_connection", lambda place, timeout: connected.append(place) or refuse())
    asked = answers(monkeypatch, "8.8.8.8")
    with pytest.raises(SendFailed):
        post("http://rebound.example:8080/", b"", {})
    assert (asked, connected) == (["rebound.example"], [("8.8.8.8", 8080)])


def refuse():
    raise ConnectionRefusedError("refused")


def test_the_second_address_is_tried_when_the_first_refuses(monkeypatch, hook):
    port = hook.server.server_address[1]
    answers(monkeypatch, "127.0.0.2", "127.0.0.1")
    assert post(f"http://two.example:{port}/", b"x", {}, allow=LOCAL).status == 204


# what receivers do --------------------------------------------------------------------------------------------------------
def test_a_redirect_is_not_followed(hook):
    def redirect(handler):
        handler.send_response(307)
        handler.send_header("Location", "http://169.254.169.254/latest/meta-data/")
        handler.end_headers()

    hook.reply = redirect
    with pytest.raises(AddressRefused, match="redirects"):
        post(hook.url, b"", {}, allow=LOCAL)


def test_a_reply_that_is_an_error_is_told(hook):
    hook.reply = lambda handler: handler.send_error(503, "busy")
    with pytest.raises(SendFailed, match="replies 503"):
        post(hook.url, b"", {}, allow=LOCAL)


def test_a_long_reply_is_cut(hook):
    def much(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(10_000_000))
        handler.end_headers()
        handler.wfile.write(b"x" * 10_000_000)

    hook.reply = much
    assert len(post(hook.url, b"", {}, allow=LOCAL).body) == MOST


def test_the_socket_of_a_body_that_breaks_off_is_closed_at_once(hook, monkeypatch):
    connect, opened = socket.create_connection, []

    def impatient(*arguments):
        opened.append(connect(*arguments))
        opened[0].settimeout(0.1)
        return opened[0]

    ended = Event()

    def half(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "10")
        handler.end_headers()
        handler.wfile.write(b"x" * 5)
        ended.wait(10)

    monkeypatch.setattr(socket, "create_connection", impatient)
    hook.reply = half
    with pytest.raises(SendFailed) as caught:  # its traceback has what the call had
        post(hook.url, b"", {}, allow=LOCAL)
    ended.set()
    assert opened[0].fileno() == -1, caught


def drip(handler):
    """A header that never ends: each byte comes in time."""
    slowly = Event()
    for _ in range(600):
        handler.wfile.write(b"H")
        slowly.wait(0.05)


def dripping(length):
    """A reply whose body never ends."""

    def reply(handler):
        handler.wfile.write(f"HTTP/1.1 200 OK\r\n{length}\r\n\r\n".encode())
        slowly = Event()
        for _ in range(100):
            handler.wfile.write(b"1\r\nx\r\n")
            slowly.wait(0.05)

    return reply


@pytest.mark.parametrize("length", ["", "Content-Length: 1000\r\n", "Transfer-Encoding: chunked\r\n"])
def test_a_body_that_drips_costs_no_more_than_the_time_limit(hook, length):
    hook.reply, began = dripping(f"{length}Connection: close"), time.monotonic()
    with suppress(SendFailed):
        post(hook.url, b"", {}, seconds=0.4, allow=LOCAL)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("reply", [lambda handler: handler.rfile.read(), drip], ids=["silent", "dripping"])
def test_a_receiver_that_hangs_costs_no_more_than_the_time_limit(hook, reply):
    hook.reply, began = reply, time.monotonic()
    with pytest.raises(SendFailed, match="no reply in time"):
        post(hook.url, b"", {}, seconds=0.4, allow=LOCAL)
    assert time.monotonic() - began < 4


def test_a_receiver_that_speaks_no_http(hook):
    hook.reply = lambda handler: handler.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")
    with pytest.raises(SendFailed):
        post(hook.url, b"", {}, allow=LOCAL)


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(SendFailed, match=rf"the request to 127.0.0.1:{port} failed"):
        post(f"http://127.0.0.1:{port}/", b"", {}, allow=LOCAL)


# TLS ----------------------------------------------------------------------------------------------------------------------
@pytest.fixture
def secure(tmp_path, monkeypatch):
    """A receiver with a certificate for hooks.example that this process trusts."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hooks.example")])
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now - timedelta(1), now + timedelta(1)
    )
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("hooks.example")]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    (tmp_path / "cert.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (tmp_path / "key.pem").write_bytes(key.private_bytes(*form))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    with receiver(context) as found:
        yield found


def test_tls_proves_the_host_of_the_url_not_the_address(secure, monkeypatch):
    port = secure.server.server_address[1]
    answers(monkeypatch, "127.0.0.1")
    assert post(f"https://hooks.example:{port}/", b"x", {}, allow=LOCAL).status == 204
    assert secure.got[0].headers["Host"] == f"hooks.example:{port}"
    with pytest.raises(SendFailed, match=r"(?i)certificate"):
        post(f"https://other.example:{port}/", b"x", {}, allow=LOCAL)
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(SendFailed, match=r"(?i)certificate"):
        post(f"https://hooks.example:{port}/", b"x", {}, allow=LOCAL)
    assert len(secure.got) == 1


def test_a_body_that_drips_through_tls_costs_no_more_than_the_time_limit(secure, monkeypatch):
    answers(monkeypatch, "127.0.0.1")
    secure.reply, began = dripping("Connection: close"), time.monotonic()
    with suppress(SendFailed):
        post(f"https://hooks.example:{secure.server.server_address[1]}/", b"", {}, seconds=0.6, allow=LOCAL)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("120", 120),
        ("0.5", 0.5),
        ("", 0),
        ("soon", 0),
        ("-5", 0),
        ("9" * 400, 999_999_999),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
)
def test_how_long_a_receiver_asks_to_wait(asked, seconds):
    assert seconds_of(asked) == seconds


def test_a_date_to_wait_for():
    assert 590 < seconds_of(formatdate(time.time() + 600, usegmt=True)) <= 600
