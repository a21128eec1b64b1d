"""The URL of a store: drivers that other tools name are accepted, and no error shows a password."""

from contextlib import suppress

import pytest

from mainstay.core.errors import ConfigError
from mainstay.stores import open_migrations, open_store

SCHEMES = ("mysql", "mysql+pymysql", "amqp", "postgresql", "postgresql+asyncpg", "redis", "redis+cluster",
           "redis+sentinel", "valkey", "sqlite", "nonsense")  # fmt: skip
PASSWORDS = ("zqjx", "zq%zzjx", "zq?jx=1", "zq#jx", "zq/jx", "zq@jx", "zq jx", "zqjx]", "[zqjx", "zq:jx", "zq&jx")
FORMS = (
    "{scheme}://me:{password}@host:1/db", "{scheme}://:{password}@host/0", "{scheme}://me:{password}@host:port/db?x=y",
    "{scheme}:me:{password}@host",
)  # fmt: skip


def refusal(opener, url):
    with suppress(AttributeError):  # migrations have nothing to close
        try:
            opener(url).close()
        except ConfigError as error:
            return f"{error} {error.__cause__ or ''}"
    return ""


@pytest.mark.parametrize("opener", [open_store, open_migrations])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_error_shows_a_password(scheme, opener):
    for password in PASSWORDS:
        for form in FORMS:
            said = refusal(opener, form.format(scheme=scheme, password=password))
            assert "zq" not in said
            assert "jx" not in said


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("postgresql+asyncpg://me@host/db", "postgresql://me@host/db"),
        ("postgresql+psycopg://me@host/db", "postgresql://me@host/db"),
        ("postgres+psycopg2://me@host/db?schema=jobs", "postgres://me@host/db?schema=jobs"),
        ("sqlite+aiosqlite:///jobs.db", "sqlite:///jobs.db"),
        ("redis+cluster://host/", "redis+cluster://host/"),
    ],
)
def test_a_url_of_sqlalchemy_is_accepted(url, plain):
    with open_store(url) as store:
        assert store.url == plain
