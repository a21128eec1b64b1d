"""Whatever is wrong, a command ends with its exit code and one line that helps, never with a traceback or a new file."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mainstay.cli import exits
from mainstay.cli.main import main
from mainstay.core import errors, rules as core_rules
from mainstay.core.decide import decide
from mainstay.core.job import Rule, TypeInfo
from mainstay.core.outcome import Outcome
from mainstay.core.updates import Checkpoint, Log, Progress

from .shop import Shop

READERS = [
    ["status"], ["ls"], ["show", "01J"], ["logs", "01J"], ["retry", "01J"], ["cancel", "01J"], ["delete", "01J"],
    ["approve", "01J"], ["reject", "01J"], ["why", "01J"], ["audit"], ["types"], ["queues"], ["limits"], ["breaker"], ["settings"],
    ["pause", "--all"], ["types", "show", "mail"], ["queues", "set", "q", "--fair"], ["edit", "type", "mail", "--from", "-"],
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


@pytest.mark.parametrize("words", [words for words in READERS if words[1:] == ["01J"]], ids=" ".join)
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

    monkeypatch.setattr("mainstay.cli.status.all_findings", broken)
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

    monkeypatch.setattr("mainstay.cli.status.all_findings", interrupted)
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_no_bug(app):
    Shop(app).add()
    for words in (["ls"], ["export"]):
        with Path("/dev/full").open("wb") as full:
            result = subprocess.run(
                [sys.executable, "-m", "mainstay", *words], stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert (result.returncode, b"No space left" in result.stderr, b"bug" in result.stderr) == (
            exits.FAILED,
            True,
            False,
        )


def test_an_error_says_where_its_url_comes_from(run, shell, tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/no/jobs.db"
    enqueue = ["enqueue", "mail", "--force"]
    for words in (["status"], ["migrate"], ["doctor"], enqueue):
        assert "from" not in run(*words, "--url", url).err
    (tmp_path / "mainstay.toml").write_text(f'url = "{url}"\n', encoding="utf-8")
    for words in (["status"], ["doctor"], enqueue):
        result = run(*words)
        assert f"the store is {url}, from {tmp_path}/mainstay.toml" in result.out + result.err
    monkeypatch.setenv("MAINSTAY_URL", url)
    for words in (["status"], ["ls"], enqueue, enqueue[:2]):
        assert f"the store is {url}, from the environment variable MAINSTAY_URL" in shell(*words).err


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("state=dead", "state:dead"), ("state==dead", "state:dead"), ("age>1h", "age:>1h"), ("args.id=7", "args.id:7"),
     ("attempt>=2", "attempt:>=2"), ("Type=mail", "Type:mail")],
)  # fmt: skip
def test_a_search_with_the_wrong_operator_is_explained(run, app, wrong, right):
    Shop(app).add()
    for words in (["ls"], ["retry"]):
        result = run(*words, wrong)
        assert result.code == exits.USAGE
        assert f"a field is searched with a colon: {right}." in result.err
    assert run("ls", f'"{wrong}"').code == exits.OK


HOSTILE = "a\x1b]0;title\x07\x1b[2J\x9b31m\u202eb"


def controls(text):
    return [character for character in text if not character.isprintable() and character not in "\n\t"]


@pytest.fixture
def hostile(app):
    """A running job in which everything that a job can set holds escape sequences."""
    shop, quoted = Shop(app), json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False)
    given = dict.fromkeys(("key", "tenant", "ref", "parent"), HOSTILE)
    claimed = shop.claim(payload=quoted, tags=(HOSTILE,), **given)
    now, place = app.clock.now(), (claimed.seq, claimed.token)
    shop.store.finish([], [
        Log(*place, 1, now, HOSTILE, HOSTILE, HOSTILE, quoted), Progress(*place, now, 31, 50, HOSTILE),
        Checkpoint(*place, now, quoted),
    ])  # fmt: skip
    return claimed


def ended(app, claimed, kind):
    """The job, ended with a hostile error, reason and result."""
    json_text = json.dumps(HOSTILE, ensure_ascii=False)
    outcome = Outcome(kind, error=HOSTILE, traceback=HOSTILE, reason=HOSTILE, result=json_text, retry=False)
    app.store.finish([decide(claimed, outcome, app.clock.now(), lambda: 0.0)])


@pytest.mark.parametrize("shape", [[], ["--json"], ["--jsonl"]], ids=str)
@pytest.mark.parametrize("kind", [None, "failed", "review"])
def test_what_a_job_stored_cannot_steer_the_terminal(run, app, hostile, kind, shape):
    if kind:
        ended(app, hostile, kind)
    fields = ["--fields", "key,tenant,ref,parent,tags,stage,args,error,reason"]
    for words in (
        ["ls"],
        ["ls", *fields],
        ["show", hostile.id],
        ["show", hostile.id, *fields],
        ["logs", hostile.id],
        ["status"],
    ):
        result = run(*words, *shape)
        assert result.code == 0
        assert controls(result.out) == [], words
        if shape == ["--json"]:
            assert json.loads(result.out)


def test_what_a_job_stored_keeps_its_value_in_json(run, app, hostile):
    record = json.loads(run("show", hostile.id, "--json").out)
    assert (record["args"], record["stage"], record["key"]) == ({HOSTILE: HOSTILE}, HOSTILE, HOSTILE)


@pytest.mark.parametrize("shape", [[], ["--json"], ["--jsonl"]], ids=str)
def test_what_operators_stored_cannot_steer_the_terminal(run, app, shape):
    """Names, keys, reasons, actors, descriptions and values, set through the store: whoever did that checked nothing."""
    now, shop = app.clock.now(), Shop(app)
    rules = {"limits": [[HOSTILE, HOSTILE, 1]]}
    ids = [
        shop.add("mail", queue=HOSTILE, rules=core_rules.pack(rules), waits=core_rules.waits_at_first(rules))
        for _ in range(2)
    ]
    app.store.register_types(
        [
            TypeInfo(
                HOSTILE,
                HOSTILE,
                HOSTILE,
                {"stages": [HOSTILE]},
                now,
                HOSTILE,
                json.dumps({"properties": {HOSTILE: {"type": HOSTILE}}}),
            )
        ]
    )
    values = {"queue": HOSTILE, "disabled": HOSTILE}
    for kind, name in (
        ("pause", "all"),
        ("pause", f"queue:{HOSTILE}"),
        ("type", HOSTILE),
        ("queue", HOSTILE),
        ("breaker", HOSTILE),
        ("breaker", "mail"),
    ):
        value = (
            {"until": now + 60_000, "rest": 1}
            if kind == "breaker"
            else {"set": values if kind == "type" else {"weights": {HOSTILE: 1}}}
            if kind != "pause"
            else {}
        )
        app.store.set_rule(Rule(kind, name, value, HOSTILE, now, HOSTILE))
    app.store.set_setting(HOSTILE, json.dumps(HOSTILE), HOSTILE, now, HOSTILE)
    for words in (
        ["types"], ["types", "show", HOSTILE], ["queues"], ["limits"], ["breaker"], ["settings"], ["settings", "get", HOSTILE], ["audit"],
        ["status"], ["doctor"], *(["why", job] for job in ids), *(["show", job] for job in ids), ["pause", "--all", "--dry-run"],
        ["pause", "--all", "--actor", HOSTILE, "--reason", HOSTILE], ["resume", "--queue", HOSTILE, "--dry-run"], ["types", "show", HOSTILE[1:]],
        ["limits", "set", HOSTILE, "--running", "2", "--dry-run"], ["disable", HOSTILE, "--dry-run"], ["breaker", "close", HOSTILE],
        ["types", "set", HOSTILE, HOSTILE], ["limits", "reset", HOSTILE[1:]], [HOSTILE], ["types", HOSTILE], ["settings", "get", HOSTILE[1:]],
    ):  # fmt: skip
        result = run(*words, *shape)
        assert "this is a bug" not in result.err, words
        assert controls(result.out + result.err) == [], words
        if shape == ["--json"] and result.out:
            assert json.loads(result.out) is not None


def test_a_line_of_a_log_cannot_pretend_to_be_another(run, app):
    claimed = Shop(app).claim()
    forged = "fine\n2026-01-01T00:00:00.000Z error   forged"
    app.store.finish([], [Log(claimed.seq, claimed.token, 1, app.clock.now(), "info", "s\nx", forged, None)])
    first, *rest = run("logs", claimed.id).out.splitlines()
    assert "info" in first
    assert all(line.startswith("  ") for line in rest)
