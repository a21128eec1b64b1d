"""Whatever is wrong, a command ends with its exit code and one line that helps, never with a traceback or a new file."""

import sqlite3
import subprocess
import sys

import pytest

from mainstay.cli import exits
from mainstay.cli.main import main
from mainstay.core import errors

from .shop import Shop

READERS = [
    ["status"], ["ls"], ["show", "01J"], ["logs", "01J"], ["retry", "01J"], ["cancel", "01J"], ["delete", "01J"],
    ["approve", "01J"], ["reject", "01J"],
]  # fmt: skip


@pytest.mark.parametrize("words", READERS, ids=" ".join)
class TestAStoreThatIsNot:
    def test_a_missing_file_is_not_created(self, run, url, tmp_path, words):
        result = run(*words, "--url", url)
        assert (result.code, result.out) == (exits.STORE, "")
        assert "there is no such file" in result.err
        assert list(tmp_path.iterdir()) == []

    def test_a_missing_folder(self, run, tmp_path, words):
        assert run(*words, "--url", f"sqlite:///{tmp_path}/no/jobs.db").code == exits.STORE

    def test_a_folder_in_place_of_a_file(self, run, tmp_path, words):
        assert run(*words, "--url", f"sqlite:///{tmp_path}").code == exits.USAGE

    def test_a_file_that_is_no_database(self, run, url, tmp_path, words):
        (tmp_path / "jobs.db").write_bytes(b"not a database, but long enough to look at " * 99)
        result = run(*words, "--url", url)
        assert (result.code, result.out) == (exits.STORE, "")
        assert "not a SQLite database" in result.err or "not a database" in result.err

    def test_a_damaged_file(self, run, app, tmp_path, words):
        Shop(app).add()
        app.close()
        data = bytearray((tmp_path / "jobs.db").read_bytes())
        data[100:] = b"\xff" * (len(data) - 100)
        (tmp_path / "jobs.db").write_bytes(data)
        result = run(*words)
        assert (result.code, result.out) == (exits.STORE, "")

    def test_a_file_without_our_tables(self, run, url, tmp_path, words):
        connection = sqlite3.connect(tmp_path / "jobs.db")
        connection.execute("CREATE TABLE customer (id)")
        connection.close()
        result = run(*words, "--url", url)
        assert result.code == exits.STORE
        assert "no mainstay schema" in result.err

    def test_a_schema_from_the_future(self, run, app, tmp_path, words):
        Shop(app).add()
        app.close()
        with sqlite3.connect(tmp_path / "jobs.db") as connection:
            connection.execute("UPDATE mainstay_schema SET version = 99, readable_from = 99")
        connection.close()
        result = run(*words)
        assert result.code == exits.STORE
        assert "Upgrade mainstay" in result.err

    def test_a_bad_url(self, run, words):
        for bad in ("sqlite:/x", "mysql://host/db", "jobs.db", "sqlite:///x.db?speed=high"):
            result = run(*words, "--url", bad)
            assert result.code == exits.USAGE, bad
            assert result.err.startswith("error: ")

    def test_no_store_named(self, run, words):
        result = run(*words)
        assert result.code == exits.USAGE
        assert "MAINSTAY_URL" in result.err


@pytest.mark.parametrize("words", [words for words in READERS if len(words) > 1], ids=" ".join)
def test_an_unknown_id(run, app, words):
    Shop(app).add()
    result = run(words[0], "7ZZZ")
    assert (result.code, result.out) == (exits.MISSING, "")


def test_an_enqueue_into_a_schema_from_the_future(run, app, tmp_path):
    Shop(app).add()
    app.close()
    with sqlite3.connect(tmp_path / "jobs.db") as connection:
        connection.execute("UPDATE mainstay_schema SET version = 99, readable_from = 99")
    connection.close()
    assert run("enqueue", "mail").code == exits.STORE


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.MainstayError(), 1), (errors.UsageError(), 2), (errors.ConfigError(), 2), (errors.InvalidPayload(), 2),
        (errors.UnknownType(), 2), (errors.NotFound(), 4), (errors.Conflict(), 5), (errors.DuplicateKey(), 5),
        (errors.StoreUnavailable(), 6), (errors.StoreBusy(), 6), (errors.StoreCorrupt(), 6), (errors.SchemaMismatch(), 6),
        (errors.StoreReadOnly(), 7), (errors.JobFailed(), 8), (errors.ResultTimeout(), 124), (KeyboardInterrupt(), 130),
        (RuntimeError(), 1),
    ],
)  # fmt: skip
def test_each_kind_of_error_has_its_code(error, code):
    assert exits.code(error) == code


def test_a_bug_is_one_line_and_its_traceback_is_for_those_who_ask(capsys, monkeypatch, app):
    def broken(*_):
        raise RuntimeError("wheels came off")

    monkeypatch.setattr("mainstay.cli.status.findings", broken)
    Shop(app).add()
    assert main(["status"]) == exits.FAILED
    err = capsys.readouterr().err
    assert err.splitlines()[0] == "error: RuntimeError: wheels came off (this is a bug in mainstay)"
    assert "--traceback" in err
    assert "Traceback" not in err
    assert main(["status", "--traceback"]) == exits.FAILED
    assert "in broken" in capsys.readouterr().err


def test_an_interrupt_ends_quietly(monkeypatch, capsys, app):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("mainstay.cli.status.findings", interrupted)
    Shop(app).add()
    assert main(["status"]) == exits.INTERRUPTED
    assert capsys.readouterr().err.strip() == ""


def test_a_reader_that_has_seen_enough_is_no_error(app):
    shop = Shop(app)
    for _ in range(50):
        shop.add()
    code = "import sys; from mainstay.__main__ import main; sys.argv = ['mainstay', 'ls', '--json', '-n', '50']; main()"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(30) == 0


def test_what_a_job_stored_cannot_steer_the_terminal(run, app):
    Shop(app).add(payload='{"a": "\\u001b[2J"}', key="\x1b]0;title\x07")
    for words in (["ls"], ["ls", "--fields", "key,args"], ["status"]):
        assert "\x1b" not in run(*words).out
    assert "\x1b" not in run("show", app.list()[0].id).out
