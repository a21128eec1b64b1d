"""A replica of PostgreSQL for all that only looks: commands and searches read it, and say how far it is behind."""

import subprocess

import pytest

from mainstay import Mainstay
from mainstay.cli.main import main
from mainstay.core.errors import ConfigError, StoreReadOnly
from mainstay.settings_file import load_settings
from tests.servers import session
from tests.servers.postgres import Postgres
from tests.waiting import eventually


class Replica(Postgres):
    """A copy of another server that follows it."""

    def __init__(self, primary):
        super().__init__("18", primary_conninfo=f"host=127.0.0.1 port={primary.port} user=postgres")
        self._primary = primary

    def prepare(self):
        user = (
            {"user": session.user(), "group": self.folder.stat().st_gid, "extra_groups": []} if session.user() else {}
        )
        command = [
            self.bin / "pg_basebackup",
            "-D",
            self.folder / "data",
            "-d",
            self._primary.url(),
            "-R",
            "-c",
            "fast",
        ]
        subprocess.run([*map(str, command)], check=True, capture_output=True, cwd=self.folder, **user)


@pytest.fixture(scope="module")
def servers():
    with (
        Postgres("18", wal_level="replica", max_wal_senders="2", hot_standby="on") as primary,
        Replica(primary) as replica,
    ):
        yield primary, replica


@pytest.fixture
def urls(servers):
    return servers[0].url(), servers[1].url()


@pytest.fixture
def app(urls, servers):
    app = Mainstay(urls[0], read_url=urls[1])
    app.store.types()
    version = "SELECT version FROM mainstay.schema_version"
    there = "SELECT to_regclass('mainstay.schema_version') IS NOT NULL"
    eventually(lambda: servers[1].run(there)[0][0], "the replica has the schema")
    eventually(lambda: servers[1].run(version) == servers[0].run(version), "the replica has the whole schema")
    yield app
    app.close()


def test_searches_read_the_replica_and_changes_go_to_the_primary(servers, app):
    @app.job(name="work")
    def work() -> None: ...

    handle = work.enqueue()
    assert handle.job().id == handle.id  # at once: by the primary
    eventually(lambda: [job.id for job in app.list("type:work")] == [handle.id], "the replica has it")
    servers[1].run("SELECT pg_wal_replay_pause()")
    late = work.enqueue()
    assert [job.id for job in app.list("type:work")] == [handle.id]
    assert app.get(late).state == "queued"
    assert (app.store.behind(), app.reader.behind() >= 0) == (None, True)
    servers[1].run("SELECT pg_wal_replay_resume()")
    eventually(lambda: len(app.list("type:work")) == 2, "it goes on")
    eventually(lambda: app.reader.behind() == 0, "it has caught up")
    with pytest.raises(StoreReadOnly):
        app.reader.cancel([handle.id], 0, "ada")


def test_commands_that_look_read_the_replica_and_say_how_far_it_is_behind(servers, app, urls, monkeypatch, capsys):
    @app.job(name="seen")
    def seen() -> None: ...

    job = seen.enqueue().id
    monkeypatch.setenv("MAINSTAY_URL", urls[0])
    monkeypatch.setenv("MAINSTAY_READ_URL", urls[1])
    eventually(lambda: app.list("type:seen"), "the replica has it")
    servers[1].run("SELECT pg_wal_replay_pause()")
    late = seen.enqueue().id
    monkeypatch.setattr("mainstay.cli.options.LAG", -1)
    for words in (
        ["ls", "type:seen", "-q"],
        ["show", job, "-q"],
        ["status", "-q"],
        ["logs", job],
        ["audit"],
        ["workers"],
        ["why", job],
    ):
        assert main(words) == 0, words
        found = capsys.readouterr()
        assert "from a replica that is" in found.err, words
        assert late not in found.out
    assert main(["cancel", late]) == 0  # what changes something goes to the primary
    servers[1].run("SELECT pg_wal_replay_resume()")
    assert app.get(late).state == "cancelled"


def test_a_primary_as_replica_is_told(app, urls, monkeypatch, capsys):
    app.store.types()
    monkeypatch.setenv("MAINSTAY_URL", urls[0])
    monkeypatch.setenv("MAINSTAY_READ_URL", urls[0])
    assert main(["ls"]) == 0
    assert "names a primary" in capsys.readouterr().err


def test_only_postgresql_has_replicas():
    with pytest.raises(ConfigError, match="PostgreSQL replica"):
        load_settings(read_url="sqlite:///a.db")
