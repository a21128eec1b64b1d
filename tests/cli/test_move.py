"""`move`: one store into another, said in words that an operator can act on."""

import json
import os
import re
import subprocess
import sys

import pytest

from mainstay import Mainstay
from mainstay.cli import exits
from mainstay.stores import open_store
from mainstay.stores.move import MARK

from .shop import Shop

PARTS = ["types", "settings", "rules", "jobs", "after", "attempts", "logs", "actions", "keys", "tallies", "deliveries"]
WORKING = """
from mainstay import Mainstay

app = Mainstay()

@app.job
def mail() -> None: ...
"""


@pytest.fixture
def other(tmp_path):
    """The URL of a store that is not there yet."""
    return f"sqlite:///{tmp_path}/other.db"


@pytest.fixture
def shop(app):
    """Some jobs with a history; nobody works there any more."""
    shop = Shop(app)
    shop.dead()
    shop.review()
    shop.add()
    app.store.cancel([shop.add()], app.clock.now(), "someone")
    app.store.deregister(shop.worker)
    return shop


def test_everything_moves_and_the_operator_is_told_where_to_go_on(run, shop, url, other):
    result = run("move", url, other)
    assert result.code == exits.OK
    lines = result.out.splitlines()
    assert lines[0].split() == ["part", "rows", "checksum"]
    assert [line.split()[0] for line in lines[1:12]] == PARTS
    assert re.fullmatch(r"jobs +4 +[0-9a-f]{16}", lines[4].strip())
    assert lines[12] == f"4 jobs moved to {other}; both stores hold the same rows."
    assert lines[13] == f"Start workers with --url {other}; {url} is closed to them."
    assert result.err == ""
    with open_store(other) as moved:
        assert [row[0] for row in moved.export_rows("jobs", None, 9).rows] == [
            row[0] for row in shop.store.export_rows("jobs", None, 9).rows
        ]


def test_json_tells_rows_and_checksums(run, shop, url, other):
    found = json.loads(run("move", url, other, "--json").out)
    assert list(found) == PARTS
    assert found["jobs"]["rows"] == 4
    assert re.fullmatch("[0-9a-f]{16}", found["jobs"]["checksum"])


def test_quiet_says_nothing(run, shop, url, other):
    result = run("move", url, other, "-q")
    assert (result.code, result.out, result.err) == (exits.OK, "", "")


def test_workers_are_in_the_way_unless_told_otherwise(run, shop, url, other):
    shop.join()
    result = run("move", url, other)
    assert (result.code, result.out) == (exits.CONFLICT, "")
    assert f"1 worker(s) are registered at {url}: stop them first" in result.err
    assert "mode=" not in result.err
    assert run("move", url, other, "--force").code == exits.OK


def test_workers_at_the_target_are_in_the_way_too(run, shop, url, other):
    app = Mainstay(other)
    Shop(app).join()
    app.close()
    result = run("move", url, other)
    assert result.code == exits.CONFLICT
    assert f"registered at {other}" in result.err


def test_a_target_that_is_in_use_is_left_alone(run, shop, url, other):
    app = Mainstay(other)
    Shop(app).add()
    result = run("move", url, other)
    assert result.code == exits.CONFLICT
    assert f"{other} is not empty" in result.err
    assert len(app.list()) == 1
    app.close()


def test_the_same_move_twice_says_that_it_was_done(run, shop, url, other):
    run("move", url, other)
    result = run("move", url, other)
    assert result.code == exits.CONFLICT
    assert f"{url} has moved to {other} already" in result.err


def test_a_store_into_itself(run, shop, url):
    result = run("move", url, url)
    assert result.code == exits.CONFLICT
    assert "same store" in result.err


def test_nothing_to_move_from(run, other, tmp_path):
    result = run("move", f"sqlite:///{tmp_path}/none.db", other)
    assert result.code == exits.STORE
    assert "there is no such file" in result.err
    assert list(tmp_path.iterdir()) == []


def test_no_place_to_go_to(run, shop, url):
    result = run("move", url)
    assert result.code == exits.USAGE
    assert "TO is missing" in result.err
    assert f"try: mainstay move {url} postgresql://" in result.err


@pytest.mark.parametrize("bad", ["mysql://host/db", "other.db", "sqlite:/x"])
def test_a_place_that_is_none(run, shop, url, bad):
    result = run("move", url, bad)
    assert result.code == exits.USAGE
    assert result.err.startswith("error: ")
    assert run("move", bad, url).code == exits.USAGE


def test_a_target_that_does_not_answer_closes_nothing(run, shop, url):
    result = run("move", url, "redis://127.0.0.1:1/0")
    assert result.code == exits.STORE
    assert run("doctor", "--url", url).code != exits.FAILED


def test_a_password_is_not_shown(run, shop, url):
    result = run("move", url, "redis://me:secret@127.0.0.1:1/0")
    assert "secret" not in result.out + result.err


def test_one_that_was_interrupted_says_how_to_go_on(run, shop, url, other, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mainstay.stores.move._copy", interrupted)
        result = run("move", url, other)
    assert (result.code, result.out) == (exits.INTERRUPTED, "")
    assert "run the same command again to continue" in result.err
    assert run("move", url, other).code == exits.OK


def worker(shell, tmp_path, url):
    (tmp_path / "working.py").write_text(WORKING, encoding="utf-8")
    return shell("worker", "--app", "working:app", env={"MAINSTAY_URL": url})


def test_no_worker_starts_where_the_jobs_have_left(run, shell, shop, url, other, tmp_path):
    run("move", url, other)
    result = worker(shell, tmp_path, url)
    assert result.code == exits.CONFLICT
    assert f"have moved to {other}: start workers there" in result.err
    assert f"mainstay move --reopen {url}" in result.err
    assert "Traceback" not in result.err


def test_no_worker_starts_where_a_move_has_not_finished(run, shell, shop, url, other, tmp_path):
    run("move", url, other)
    with open_store(other) as store:
        store.set_setting(MARK, "{}")
    result = worker(shell, tmp_path, other)
    assert result.code == exits.CONFLICT
    assert "has not finished: run the same `mainstay move` again" in result.err


def test_a_store_can_be_opened_again(run, shop, url, other, app):
    run("move", url, other)
    result = run("move", "--reopen", url)
    assert (result.code, result.out) == (exits.OK, "")
    assert f"workers may start on {url} again" in result.err
    app.job(name="mail")(lambda: None)
    with app.worker(concurrency=1):
        assert len(app.store.workers()) == 1


def test_a_terminal_shows_how_far_it_is_and_keeps_only_the_end(shop, url, other):
    for _ in range(40):
        shop.add()
    above, below = pytest.importorskip("pty").openpty()
    command = [sys.executable, "-m", "mainstay", "move", url, other, "--batch", "5"]
    process = subprocess.Popen(command, stdin=below, stdout=subprocess.PIPE, stderr=below)
    os.close(below)
    seen = b"".join(iter(lambda: read(above), b"")).decode()
    os.close(above)
    out = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0
    assert re.search(r"copying jobs +━+─* \d+ of 44", seen)
    assert seen.endswith("\r\033[K"), "the line is wiped at the end"
    assert "━" not in out
    assert "44 jobs moved" in out


def read(file):
    try:
        return os.read(file, 65536)
    except OSError:  # Linux's way to say that the other end is closed
        return b""
