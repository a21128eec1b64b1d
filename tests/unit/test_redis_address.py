"""URLs of Redis stores: where they lead, which options there are, and how a wrong one is refused."""

import pytest

from mainstay.core.errors import ConfigError
from mainstay.stores.redis.address import parse_url


@pytest.mark.parametrize(
    ("url", "kind", "hosts"),
    [
        ("redis://localhost", "", (("localhost", 6379),)),
        ("valkey://localhost:7000/2", "", (("localhost", 7000),)),
        ("redis://[::1]:6380/0", "", (("::1", 6380),)),
        ("redis://[::1]/0", "", (("::1", 6379),)),
        ("redis+cluster://a:1,b:2/", "cluster", (("a", 1), ("b", 2))),
        ("redis+sentinel://a,b:2/shop/3", "sentinel", (("a", 26379), ("b", 2))),
    ],
)
def test_where_a_url_leads(url, kind, hosts):
    address = parse_url(url)
    assert (address.kind, address.hosts) == (kind, hosts)


def test_what_a_url_carries():
    address = parse_url("rediss://me:p%40ss@host/4?prefix=shop&socket_timeout=3&ssl_ca_certs=/ca.pem")
    assert address.options == {
        "username": "me", "password": "p@ss", "db": 4, "socket_timeout": 3.0, "ssl": True, "ssl_ca_certs": "/ca.pem",
    }  # fmt: skip
    assert address.prefix == "{shop}:"


def test_a_sentinel_url_names_the_service_and_the_database():
    address = parse_url("redis+sentinel://a/shop/3")
    assert (address.service, address.options) == ("shop", {"db": 3})
    assert parse_url("redis+sentinel://a").service == "mymaster"


def test_no_password_is_ever_shown():
    url = "redis://me:secret@host:6379/0"
    assert "secret" not in parse_url(url).shown
    with pytest.raises(ConfigError) as caught:
        parse_url("redis://me:secret@host/zero")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis:///0", "redis://host:6379/0"),
        ("redis+ring://a", "redis\\+cluster"),
        ("redis://a:port/0", "not a port"),
        ("redis://a:70000/0", "not a port"),
        ("redis://a/zero", "number of the database"),
        ("redis://a/0?colour=red", "unknown option 'colour'"),
        ("redis://a/0?prefix=a{b}", "printable"),
        ("redis://a/0?prefix=", "printable"),
        ("redis://a/0?socket_timeout=soon", "seconds"),
        ("rediss://a/0?ssl_cert_reqs=maybe", "none, optional, required"),
        ("redis+cluster://a/1", "prefix="),
    ],
)
def test_what_cannot_be_is_refused_with_a_way_out(url, words):
    with pytest.raises(ConfigError, match=words):
        parse_url(url)
