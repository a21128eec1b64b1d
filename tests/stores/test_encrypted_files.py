"""What an encrypted installation leaves on the disk: no plain text of what it was given, on any engine."""

import base64
from contextlib import closing, contextmanager

import psycopg
import pytest

from mainstay import Mainstay, Review, by, ctx
from mainstay.core import fields
from mainstay.core.keyring import VARIABLE
from tests.servers.engines import postgres_engines, redis_engines
from tests.servers.redis import DURABLE, Redis

SECRET = "hunter-planted"
PARTS = (
    "arg",
    "error",
    "frame",
    "log",
    "field",
    "saved",
    "result",
    "asked",
    "output",
    "note",
    "edited",
    "schedule",
    "key",
)
KEYS = f"k1:{base64.b64encode(b'1' * 32).decode()}"


@pytest.fixture(autouse=True)
def keys(monkeypatch, request):
    if request.param:
        monkeypatch.setenv(VARIABLE, KEYS)
    monkeypatch.setenv("MAINSTAY_REDACT", "off")  # encryption alone has to keep them out
    from mainstay import redacting

    redacting.forget()
    yield
    redacting.forget()
    fields.hashed = None


def work(url):
    """An application that puts the secret into every place that is encrypted; it stays open."""
    app = Mainstay(url)

    @app.job(retry=1, key=by("to"))
    def fails(to: str) -> None:
        ctx.log(f"{SECRET}-log", field=f"{SECRET}-field")
        ctx.save(token=f"{SECRET}-saved")
        raise ValueError(f"{SECRET}-error")  # the line of code, {SECRET}-frame, is in the traceback

    @app.job
    def returns(to: str) -> str:
        return f"{SECRET}-result"

    @app.job
    def asks(to: str) -> None:
        raise Review(f"{SECRET}-asked", output=f"{SECRET}-output")

    app.schedule("nightly", returns.prepare(f"{SECRET}-schedule"), cron="0 3 * * *")
    jobs = [each.enqueue(f"{SECRET}-arg") for each in (returns, asks)] + [fails.enqueue(f"{SECRET}-key")]
    app.drain()
    app.reject(jobs[1], f"{SECRET}-note")
    assert app.bulk(f"id:{jobs[2].id}").amend({"to": f"{SECRET}-edited"}).changed == 1
    assert app.get(jobs[0]).result == f"{SECRET}-result"
    assert app.attempts(jobs[2])[0].error == f"ValueError: {SECRET}-error"
    return app


@contextmanager
def on_sqlite(folder):
    with closing(work(f"sqlite:///{folder}/jobs.db")):  # open: the write-ahead log is there
        assert (folder / "jobs.db-wal").stat().st_size
        yield b"".join((folder / name).read_bytes() for name in ("jobs.db", "jobs.db-wal"))


@contextmanager
def on_postgres(folder):
    made = next(iter(postgres_engines().values()))
    with made(folder) as url, closing(work(url)):
        plain, _, query = url.partition("?")
        schema = query.partition("schema=")[2]
        with psycopg.connect(plain) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
            rows = [connection.execute(f'SELECT t::text FROM "{schema}"."{table}" t').fetchall() for (table,) in tables]
        yield repr(rows).encode()


@contextmanager
def on_redis(folder):
    kind = next(name for name in redis_engines())
    with (
        Redis(kind, **DURABLE, rdbcompression="no") as server,
        closing(work(server.url())),
        closing(server.client()) as client,
    ):
        client.save()
        yield b"".join(
            path.read_bytes() for path in server.folder.rglob("*") if path.is_file() and path.suffix != ".log"
        )


ENGINES = {"sqlite": on_sqlite, "postgres": on_postgres, "redis": on_redis}


@pytest.mark.parametrize("keys", [True], indirect=True)
@pytest.mark.parametrize("place", ENGINES)
def test_nothing_on_the_disk_tells_a_secret(place, tmp_path):
    with ENGINES[place](tmp_path) as data:
        assert [part for part in PARTS if f"{SECRET}-{part}".encode() in data] == []
        assert b"enc:1:k1:" in data


@pytest.mark.parametrize("keys", [False], indirect=True)
def test_without_keys_the_same_look_finds_them(tmp_path):
    with on_sqlite(tmp_path) as data:
        assert {part for part in PARTS if f"{SECRET}-{part}".encode() in data} >= {*PARTS} - {"frame"}
