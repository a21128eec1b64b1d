"""The fast path of `enqueue`: nothing heavy is imported, and it speaks exactly the language of the full command."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

import mainstay
from mainstay import Mainstay
from mainstay.cli import enqueue_args
from mainstay.cli.fast_enqueue import parsed, quick
from mainstay.cli.main import main

SOURCE = str(Path(mainstay.__file__).parents[1])
HEAVY = {"click", "asyncio", "logging", "dataclasses", "msgspec", "inspect", "subprocess", "pathlib", "tempfile"}


def test_a_plain_enqueue_imports_nothing_heavy(url):
    code = f"""
import sys
sys.path.insert(0, {SOURCE!r})
sys.argv = ["mainstay", "enqueue", "resize", "path=a.png", "width=300", "--url", {url!r}, "--key", "k", "--tag", "eu"]
from mainstay.__main__ import main
try:
    main()
except SystemExit as end:
    print(end.code, *sys.modules)
"""
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    job, rest = done.stdout.splitlines()
    exit_code, *modules = rest.split()
    assert (exit_code, len(job)) == ("0", 26)
    assert not HEAVY & set(modules)
    assert "mainstay.cli.main" not in modules


def test_the_id_is_printed_and_the_job_is_there(shell, app, url):
    result = shell("enqueue", "resize", "path=a.png", "width=300", "--priority=5", "--queue", "slow", "--tag=eu")
    job = app.get(result.out.strip())
    assert (result.code, result.err) == (0, "")
    assert (job.type, job.payload) == ("resize", '{"path":"a.png","width":300}')
    assert (job.priority, job.queue, job.tags) == (5, "slow", ("eu",))


def test_a_key_that_is_taken_answers_the_job_that_has_it(shell, app):
    first, second = shell("enqueue", "mail", "--key", "k"), shell("enqueue", "mail", "--key", "k")
    assert (second.code, second.out) == (0, first.out)
    assert second.err == "nothing new: this job has the key 'k' already\n"


def test_mistakes_look_as_in_the_full_command(shell, url):
    quickly = shell("enqueue", "mail", "--in", "soon", "--url", url)
    fully = shell("enqueue", "mail", "--in", "soon", "--url", url, "--json")
    assert quickly == fully
    assert quickly.code == 2
    assert quickly.err == "error: --in 'soon' is not a duration; write 90s, 5m, 2h or 3d\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["ls"],
        ["enqueue"],
        ["enqueue", "--help"],
        ["enqueue", "mail", "-q"],
        ["enqueue", "mail", "--json"],
        ["enqueue", "mail", "@rows.json"],
        ["enqueue", "mail", "-"],
        ["enqueue", "mail", "=5"],
        ["enqueue", "mail", "word"],
        ["enqueue", "mail", "--", "a=1"],
        ["enqueue", "mail", "--key"],
        ["enqueue", "mail", "--key="],
        ["enqueue", "mail", "--app", "jobs:app"],
        ["enqueue", "", "a=1"],
        ["--url", "sqlite:///x.db", "enqueue", "mail"],
    ],
)
def test_other_forms_are_left_to_the_full_command(words):
    assert parsed(words) is None


def test_an_application_or_no_url_is_left_to_the_full_command(url):
    assert quick(["enqueue", "mail"], {}) is None
    assert quick(["enqueue", "mail", "--url", url], {"MAINSTAY_APP": "jobs:app"}) is None


WORDS = st.sampled_from([
    "mail", "a=1", "a=", "b=x=y", "c=[1, 2]", "d= ", "e", "=", "-", "--", "-1", "@f", "--key", "--key=k", "--key=", "--in",
    "--in=5m", "5m", "--at", "--at=2026-01-31T09:30", "--priority", "--priority=-5", "-5", "--queue", "q", "--tag", "--tag=t",
    "--url=sqlite:///x.db", "--urls", "--ke", "-k", "--force", "", "ü=ß",
])  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=6))
@example(["mail", "--priority", "-5", "--tag", "--key", "a=1"])
def test_what_the_fast_path_takes_the_full_command_reads_the_same(words):
    argv = ["enqueue", *words]
    seen = []

    def send(app, type, pairs, given, own=(), force=False):
        seen.append((app.store.url, type, list(pairs), enqueue_args.options(given), force))
        raise enqueue_args.UsageError("seen")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enqueue_args, "send", send)
        patch.setenv("MAINSTAY_URL", "sqlite:///env.db")
        taken = quick(argv, {"MAINSTAY_URL": "sqlite:///env.db"})
        if taken is None:
            return
        assert main(argv) == taken
    assert len(seen) in {0, 2}
    assert seen[:1] == seen[1:]


def test_it_works_in_a_file_that_holds_the_users_own_tables(tmp_path, url):
    import sqlite3

    with sqlite3.connect(tmp_path / "jobs.db") as connection:
        connection.execute("CREATE TABLE customer (id)")
    connection.close()
    assert quick(["enqueue", "mail", "--url", url], {}) == 0
    app = Mainstay(url)
    assert len(app.list()) == 1
    app.close()
