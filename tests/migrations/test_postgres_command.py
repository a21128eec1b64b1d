"""`mainstay migrate` on PostgreSQL: roles, other schemas, and the statements that it prints."""

import json
import subprocess

import psycopg
import pytest

from mainstay.cli import exits
from mainstay.cli.main import main
from mainstay.stores import open_store
from mainstay.stores.postgres import schema
from tests.contract.building import draft
from tests.migrations.loading import load_postgres
from tests.servers.engines import postgres_server


@pytest.fixture
def server():
    return postgres_server("16")


@pytest.fixture
def url(server):
    with server.database() as url:
        yield url


@pytest.fixture
def migrate(url, capsys):
    """Run the command; returns its code and output."""

    def run(*words):
        code = main(["migrate", *words, "--url", url])
        return code, capsys.readouterr().out

    return run


def test_status_and_up_on_a_fresh_database(migrate):
    code, out = migrate("status")
    assert code == exits.PARTIAL
    assert "mainstay migrate up" in out
    assert migrate("up")[0] == exits.OK
    assert migrate("status", "--json") == (exits.OK, migrate("--json")[1])
    assert json.loads(migrate("--json")[1])["version"] == schema.VERSION
    assert json.loads(migrate("up", "--json")[1])["applied"] == []


def test_the_printed_statements_create_the_same_tables(server, migrate, url):
    code, script = migrate("sql")
    assert code == exits.OK
    with psycopg.connect(url, autocommit=True) as own:
        own.execute(script)
    assert migrate("status")[0] == exits.OK
    with open_store(url) as store:
        assert store.enqueue([draft()], 1)[0][1] is True
    assert "nothing to do" in migrate("sql")[1]
    with server.database() as other:
        main(["migrate", "up", "--url", other])
        assert tables(other) == tables(url)


def tables(url):
    columns = (
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'mainstay'"
    )
    indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'mainstay'"
    with psycopg.connect(url) as own:
        return sorted(own.execute(columns).fetchall()), sorted(own.execute(indexes).fetchall())


def test_a_role_without_create_can_use_the_schema_of_an_owner(server, migrate, url, capsys):
    server.run("DROP ROLE IF EXISTS tenant")
    server.run("CREATE ROLE tenant LOGIN")
    poor = url.replace("postgres@", "tenant@")
    assert main(["migrate", "up", "--url", poor]) == exits.DENIED
    assert "mainstay migrate sql" in capsys.readouterr().err
    migrate("up")
    with psycopg.connect(url, autocommit=True) as own:
        own.execute("GRANT USAGE ON SCHEMA mainstay TO tenant")
        own.execute("GRANT ALL ON ALL TABLES IN SCHEMA mainstay TO tenant")
        own.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA mainstay TO tenant")
    with open_store(poor) as store:
        assert store.enqueue([draft()], 1)[0][1] is True
        store.cancel([store.find("", 1)[0]], 1, "me")
    with psycopg.connect(url, autocommit=True) as own:
        own.execute("DROP OWNED BY tenant")
    server.run("DROP ROLE tenant")


def test_up_refuses_a_schema_that_is_too_new(migrate, url, capsys):
    migrate("up")
    with psycopg.connect(url, autocommit=True) as own:
        own.execute("UPDATE mainstay.schema_version SET version = 99, readable_from = 99")
    assert migrate("status")[0] == exits.FAILED
    assert main(["migrate", "up", "--url", url]) == exits.STORE
    assert "Upgrade mainstay" in capsys.readouterr().err


def test_the_statements_use_the_schema_of_the_url(migrate, url, capsys):
    named = f"{url}?schema=jobs"
    main(["migrate", "sql", "--since", "0", "--url", named])
    script = capsys.readouterr().out
    assert "mainstay." not in script.replace("mainstay.job`", "")
    assert main(["migrate", "up", "--url", named]) == exits.OK
    assert migrate("status")[0] == exits.PARTIAL


def test_the_printed_statements_upgrade_an_older_schema_online(server, migrate, url):
    load_postgres(url)
    script = migrate("sql")[1]
    assert "CREATE INDEX CONCURRENTLY" in script
    words = [server.bin / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", url]
    for _ in range(2):  # the second time it changes nothing
        subprocess.run(words, input=script, text=True, check=True, capture_output=True)
    assert migrate("status")[0] == exits.OK
    with server.database() as other:
        main(["migrate", "up", "--url", other])
        assert tables(other) == tables(url)
