"""What people are told who have just begun: why a job does not run, and the whole command to type next."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mainstay import Mainstay
from mainstay.cli import exits
from mainstay.core.job import TypeInfo
from tests.cli.test_worker import SOURCE

from .shop import Shop

ROOT = str(Path(__file__).parents[2])
HOLD = "import sys; from mainstay import Mainstay; from tests.cli.shop import Shop; app = Mainstay(sys.argv[1]); \
Shop(app).claim(); print(flush=True); sys.stdin.read()"


@pytest.fixture
def shop(app):
    return Shop(app)


@pytest.fixture
def killed(app, url):
    """Return the id of a running job whose worker was killed a moment ago."""
    words = [sys.executable, "-c", HOLD, url]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": ROOT}
    )
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (job,) = app.list("state:running")
    return job.id


def test_a_queue_that_no_worker_serves_is_named(run, shop):
    shop.join(["thumb"])
    job = shop.add("thumb", queue="images")
    for words in (["status"], ["doctor"]):
        out = run(*words).out
        assert "1 job waits, but no live worker serves the queue images" in out
        assert "mainstay worker --app … --queues images,default" in out
    shown = run("show", job).out
    assert "no live worker serves the queue images\n   → mainstay worker --app … --queues images,default\n" in shown


def test_a_queue_that_a_worker_serves_is_no_problem(run, shop):
    shop.join(["thumb"])
    shop.add("thumb")
    assert "no live worker" not in run("status").out


def test_types_that_no_worker_serves_share_a_line(run, shop):
    shop.add("thumb")
    shop.add("thumb", queue="images")
    shop.add("mail")
    lines = [
        line for line in run("status", "--app", "x:y", "--url", shop.app.store.url).out.splitlines() if "!" in line
    ]
    assert lines == [
        " ! 3 jobs wait, but no live worker serves their types: thumb 2, mail 1  → mainstay worker --app x:y"
    ]


def test_the_queues_of_a_type_are_added_up(run, shop):
    shop.add("thumb")
    shop.add("thumb", queue="images")
    assert " thumb       2 " in run("status").out


def test_a_running_job_whose_worker_died_says_who_takes_it_over(run, killed):
    out = run("show", killed).out
    assert "its worker wtest is gone" in out
    assert "and runs again\n   → mainstay worker --app …" in out
    assert "no worker" in run("status").out.splitlines()[0]
    assert "none is running" in run("doctor").out


def test_a_running_job_whose_worker_lives_has_no_such_line(run, shop):
    assert "is gone" not in run("show", shop.claim().id).out


def test_deleting_a_job_that_is_being_cancelled(run, shop):
    job = shop.claim().id
    run("cancel", job)
    assert "it is being cancelled; it ends when its handler does, or its worker" in run("delete", job).err


def test_a_store_that_has_moved_accepts_no_job_from_the_command_line(run, shop, url, tmp_path, shell):
    shop.add()
    other = f"sqlite:///{tmp_path}/other.db"
    shop.app.close()
    assert run("move", url, other).code == exits.OK
    for result in (run("enqueue", "mail"), shell("enqueue", "mail")):  # the full command, and the fast one
        assert result.code == exits.CONFLICT
        assert f"have moved to {other}" in result.err
    assert f"have moved to {other}" in run("status").out


def test_a_place_in_a_list_that_is_no_id(run, shop):
    shop.add()
    result = run("ls", "--after", "nope")
    assert (result.code, result.out) == (exits.USAGE, "")
    assert "'nope' is no place in a list" in result.err


def test_a_preview_adds_up(run, shop):
    for n in range(7):
        shop.add(f"type{n}")
    shop.add("type0")
    said = run("delete", "--all", "--dry-run").err
    assert said.startswith("8 jobs match (type0 2, ")
    assert said.endswith(" 1, and 2 of 2 more types). Nothing changed. Add --yes to delete.\n")


def test_one_job_is_it(run, shop, monkeypatch):
    shop.dead()
    asked = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(click, "confirm", lambda text, **_: asked.append(text))
    run("retry", "state:dead")
    assert asked == ["1 job matches (mail 1). Retry it?"]


def test_approve_gives_no_hint_of_retry(run, shop):
    job = shop.end()
    assert (
        run("approve", job).err
        == f"error: job {job} was not changed: it is completed, not in review\n  try: mainstay show {job}\n"
    )


def test_reject_all_takes_the_jobs_in_review(run, shop):
    shop.review()
    shop.end()
    assert run("reject", "--all", "--yes").err == "1 job rejected\n"


def test_a_dry_run_of_copies_says_copy(run, shop):
    shop.end()
    assert "Add --yes to copy." in run("retry", "state:completed", "--copy", "--dry-run").err


@pytest.mark.parametrize("command", ["doctor", "status", "ls"])
def test_without_a_store_the_command_that_was_typed_is_shown(run, command):
    result = run(command)
    said = result.err + result.out
    assert f"mainstay {command} --url sqlite:///jobs.db" in said
    assert "mainstay.toml" in said


def test_a_url_is_shown_as_it_was_typed(run):
    result = run("ls", "--url", "sqlite://mine.db")
    assert "'sqlite://mine.db'" in result.err
    assert "mode=" not in result.err
    assert '(did you mean "sqlite"?)' in run("ls", "--url", "sqlit:///mine.db").err


def test_the_application_is_found_beside_the_settings_file(shell, tmp_path):
    (tmp_path / "mainstay.toml").write_text('app = "greetings:app"', encoding="utf-8")
    (tmp_path / "greetings.py").write_text(
        SOURCE.replace("Mainstay()", "Mainstay('sqlite:///own.db')"), encoding="utf-8"
    )
    below = tmp_path / "below"
    below.mkdir()
    result = shell("config", cwd=below)
    assert result.code == exits.OK, result.err
    assert "the application greetings:app" in next(line for line in result.out.splitlines() if line.startswith(" url"))
    (tmp_path / "greetings.py").unlink()
    assert (
        f"the application greetings:app is named by {tmp_path}/mainstay.toml"
        in shell("enqueue", "greet", cwd=below).err
    )


def test_the_next_page_is_a_whole_command(run, shop):
    first, _ = shop.add(), shop.add()
    said = run("ls", "type:mail", "-n", "1").err
    command = said.removeprefix("there are more: mainstay ").split()
    assert run(*command, "-q").out == f"{first}\n"


def test_words_that_were_probably_meant_otherwise(run, shop):
    shop.add()
    assert "mainstay ls state:dead" in run("ls", "dead").err
    assert "state:dead,completed finds those in either" in run("ls", "state:dead", "state:completed").err
    assert "in quotes: 'age:>1h'" in run("ls", "age:").err
    assert "try: mainstay ls" in run("show", "nope").err


def test_an_argument_without_a_name_names_the_parameters(run, app):
    app.store.register_types([TypeInfo("greet", "default", "greet(name: str, loud: bool = False)", {}, 1)])
    result = run("enqueue", "greet", "x")
    assert "'x': arguments are written name=value; greet takes name, loud" in result.err
    assert "try: mainstay enqueue greet name=x" in result.err


def test_waiting_says_that_no_worker_serves_the_job(run, app, url):
    result = run("enqueue", "greet", "--wait", "--timeout", "1100ms")
    assert result.code == exits.TIMEOUT
    reason = "no live worker serves the type greet (no worker is running at all) → mainstay worker --app …"
    assert result.err.startswith(f"{reason}\nerror: ")
    assert result.err.count(reason) == 2


def test_a_text_is_one_name(app):
    @app.job(aliases="old", stages="read", tags="x")
    def greet() -> None:
        pass

    assert (greet.aliases, greet.stages, greet.defaults.values["tags"]) == (("old",), ("read",), ("x",))
    assert list(Mainstay.worker(app, queues="mail", types="greet").wants.items()) == [("mail", ["greet", "old"])]
