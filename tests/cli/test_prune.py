"""`prune`, `export` and `import`: counts that are true, archives before removal, and nothing changed after a mistake."""

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mainstay import Mainstay
from mainstay.cli import exits
from mainstay.core import jsonl
from mainstay.core.bulk import Bulk
from mainstay.core.outcome import Outcome
from mainstay.stores import open_store
from mainstay.upkeep import prune as pruning

from .shop import Shop

CANCELLED = Outcome("cancelled", reason="not wanted")


@pytest.fixture(autouse=True)
def no_rests(monkeypatch):
    """Removals that do not wait for each other."""
    monkeypatch.setattr(pruning, "BETWEEN", 0)
    monkeypatch.setattr(pruning, "REST", 0)


@pytest.fixture
def shop(app):
    return Shop(app)


def states(shop, jobs):
    found = {job.id: job.state for job in shop.store.get_many(jobs)}
    return [found.get(job) for job in jobs]


def archived(folder="old"):
    lines = [
        line for file in Path(folder).iterdir() for line in gzip.decompress(file.read_bytes()).decode().splitlines()
    ]
    return sorted(found.job.id for found in map(jsonl.parse, lines) if found is not None)


# prune ----------------------------------------------------------------------------------------------------------------
def test_without_a_search_retention_decides(run, shop):
    over, kept, dead = shop.end(keep=0), shop.end(), shop.dead()
    dry = run("prune", "--dry-run")
    assert (dry.code, dry.out, dry.err) == (
        exits.OK,
        "",
        "1 job would be removed. Nothing changed.\n",
    )
    assert "1 job removed" in run("prune").err
    assert states(shop, [over, kept, dead]) == [None, "completed", "dead"]
    (action, *_) = shop.store.actions(None, 9)
    assert (action.action, action.detail) == ("prune", {"jobs": 1})
    assert json.loads(run("prune", "--json").out) == {"matched": 0, "removed": 0, "archive": None}


def test_a_search_finds_completed_and_cancelled_jobs_and_no_dead_ones(run, shop):
    completed, cancelled, dead, waiting = shop.end(), shop.end(CANCELLED), shop.dead(), shop.add()
    refused = run("prune", "type:mail")
    assert refused.code == exits.USAGE
    assert "2 jobs match (1 × mail cancelled, 1 × mail completed); confirm with --yes" in refused.err
    assert states(shop, [completed, cancelled]) == ["completed", "cancelled"]
    dry = run("prune", "type:mail", "--dry-run").err
    assert dry.startswith(
        "2 jobs would be removed (1 × mail cancelled, 1 × mail completed). Nothing changed. Add --yes"
    )
    result = run("prune", "type:mail", "--yes", "--json")
    assert json.loads(result.out) == {"matched": 2, "removed": 2, "archive": None}
    assert states(shop, [completed, cancelled, dead, waiting]) == [None, None, "dead", "queued"]
    assert "1 job removed" in run("prune", "state:dead", "--yes").err
    assert [action.action for action in shop.store.actions(None, 9)] == ["prune", "prune"]
    assert "prune jobs=2 type=mail:2 from=" in (told := run("audit").out)
    assert 'search="type:mail"' in told
    assert "try: mainstay cancel 'state:running'" in run("prune", "state:running").err


def test_older_and_keep_last_leave_what_is_newer(run, shop):
    jobs = [shop.end() for _ in range(5)]
    assert "0 jobs removed" in run("prune", "--older", "1h", "--yes").err
    assert "3 jobs removed" in run("prune", "--keep-last", "2", "--yes").err
    assert states(shop, jobs) == [None, None, None, "completed", "completed"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["state:running"], "running jobs have not ended"), (["state:waiting", "--yes"], "have not ended"),
        (["--older", "soon"], "--older"), (["--keep-last", "-1"], "keep-last"), (["--archive", "ftp://x", "--older", "1d"], "archive="),
        (["colour:blue"], "no search qualifier"),
    ],
)  # fmt: skip
def test_a_mistake_removes_nothing(run, shop, words, says):
    job = shop.end(keep=0)
    result = run("prune", *words)
    assert result.code == exits.USAGE
    assert says in result.err
    assert states(shop, [job]) == ["completed"]


@pytest.mark.parametrize("words", [[], ["type:mail", "--yes"]])
def test_an_archive_has_the_jobs_before_they_are_removed(run, shop, words):
    jobs = [shop.end(keep=0, payload=json.dumps({"n": n})) for n in range(3)]
    result = run("prune", *words, "--archive", "old")
    assert "3 jobs removed, archived to old" in result.err
    assert states(shop, jobs) == [None] * 3
    assert archived() == sorted(jobs)


def test_the_archive_of_the_settings_is_used(run, shop, monkeypatch):
    monkeypatch.setenv("MAINSTAY_ARCHIVE", "old")
    job = shop.end(keep=0)
    run("prune")
    assert archived() == [job]


def test_without_an_archive_that_can_be_written_nothing_is_removed(run, shop):
    job = shop.end(keep=0)
    Path("old").symlink_to(".")
    result = run("prune", "--archive", "old")
    assert result.code == exits.FAILED
    assert "is a link" in result.err
    assert states(shop, [job]) == ["completed"]


# export and import ----------------------------------------------------------------------------------------------------
@pytest.fixture
def other(tmp_path):
    return f"sqlite:///{tmp_path}/other.db"


def test_what_is_exported_can_be_imported_elsewhere(run, shop, other):
    done, dead, spoken, waiting = shop.end(), shop.dead(), shop.speaking(), shop.add()
    assert "4 jobs written to all.jsonl.gz" in run("export", "-o", "all.jsonl.gz").err
    assert Path("all.jsonl.gz").stat().st_mode & 0o777 == 0o600
    result = run("import", "all.jsonl.gz", "--url", other)
    assert (result.code, result.err) == (exits.OK, "2 jobs imported, 2 jobs left out because not ended (--requeue)\n")
    with open_store(other) as store:
        assert store.attempts(dead) == shop.store.attempts(dead)
        assert {job.id for job in store.get_many([done, dead, spoken, waiting])} == {done, dead}
        (action, *_) = store.actions(None, 9)
        assert (action.action, action.detail) == ("import", {"jobs": 2, "file": "all.jsonl.gz"})
        assert [each.action for each in store.actions(dead, 9)] == ["import"]
    again = json.loads(run("import", "all.jsonl.gz", "--url", other, "--json").out)
    assert again == {"imported": 0, "exists": 2, "requeued": 0, "key_taken": 0, "not_ended": 2}


def test_jobs_that_had_not_ended_run_again_only_if_asked_for(run, shop, other):
    running, waiting, keyed = shop.speaking(), shop.add(), shop.add(key="k", lock="mail:k")
    run("export", "-o", "all.jsonl")
    Shop(Mainstay(other)).add(key="k", lock="mail:k")
    result = run("import", "all.jsonl", "--requeue", "--url", other)
    assert result.code == exits.PARTIAL
    assert result.err == "0 jobs imported, 2 jobs enqueued, 1 job left out because another job has the key\n"
    with open_store(other) as store:
        assert [(job.id, job.state, job.attempt) for job in store.get_many([running, waiting, keyed])] == [
            (running, "queued", 0), (waiting, "queued", 0),
        ]  # fmt: skip
    assert "2 jobs there already" in run("import", "all.jsonl", "--requeue", "--url", other).err


def test_a_search_chooses_what_is_exported_and_stdout_has_only_data(run, shop):
    shop.end()
    dead = shop.dead()
    result = run("export", "state:dead")
    header, line = result.out.splitlines()
    assert json.loads(header)["search"] == "state:dead"
    assert json.loads(line)["job"]["id"] == dead
    assert result.err == ""
    assert run("export", "state:review").out.count("\n") == 1


def test_a_file_is_not_replaced_unless_asked_for_and_no_part_stays(run, shop):
    shop.end()
    run("export", "-o", "a.jsonl")
    refused = run("export", "-o", "a.jsonl")
    assert (refused.code, "--force" in refused.err) == (exits.USAGE, True)
    assert run("export", "-o", "a.jsonl", "--force").code == exits.OK
    assert run("export", "-o", "missing/a.jsonl").code == exits.USAGE
    assert run("export", "colour:blue", "-o", "b.jsonl").code == exits.USAGE
    assert [path.name for path in Path().glob("*jsonl*")] == ["a.jsonl"]


def test_a_broken_line_says_its_number_and_nothing_is_imported(run, shop, other):
    for _ in range(3):
        shop.end()
    run("export", "-o", "a.jsonl")
    lines = Path("a.jsonl").read_text(encoding="utf-8").splitlines()
    broken = {
        "line 3": [*lines[:2], lines[2].replace('"state":"completed"', '"state":"done"'), lines[3]],
        "line 4": [*lines[:3], lines[3][:50]],
        "line 1": lines[1:],
        "format 9": [lines[0].replace('"format":1', '"format":9'), *lines[1:]],
    }
    for says, given in broken.items():
        Path("b.jsonl").write_text("\n".join(given), encoding="utf-8")
        result = run("import", "b.jsonl", "--url", other)
        assert (result.code, says in result.err) == (exits.USAGE, True), result.err
    with open_store(other) as store:
        assert store.find("", 9) == []
        assert store.actions(None, 9) == []


@pytest.mark.parametrize(
    ("part", "given"),
    [
        *(("actions", {"at": 1, "actor": "a", "action": "retry", "detail": detail}) for detail in (
            "[]", "null", "3", '{"bulk":5}', '{"bulk":"X"}', '{"from":3}', '{"with":"[]"}', '{"with":"{\\"run_at\\":\\"x\\"}"}',
            '{"bulk":"X","search":"","jobs":"3","matched":3}', '{"note":{"a":1}}',
        )),
        ("actions", {"at": 1, "actor": "a", "action": "rule", "detail": '{"kind":"type","name":"x","before":3}'}),
        *(("review", review) for review in (
            "x", "[]", "{}", '{"question":"q","token":"1","at":1}', '{"question":"q","token":1,"at":1,"remind":"1h"}',
        )),
    ],
)  # fmt: skip
def test_what_nobody_could_read_later_is_refused(run, shop, other, part, given):
    shop.end()
    run("export", "-o", "a.jsonl")
    header, line = Path("a.jsonl").read_text(encoding="utf-8").splitlines()
    found = json.loads(line)
    changed = found | {part: [given]} if part == "actions" else {"job": found["job"] | {part: given}}
    Path("b.jsonl").write_text(f"{header}\n{line}\n{json.dumps(changed)}\n", encoding="utf-8")
    result = run("import", "b.jsonl", "--url", other)
    assert (result.code, f"line 3: {'job.' * (part == 'review')}{part}" in result.err) == (exits.USAGE, True), (
        result.err
    )
    with open_store(other) as store:
        assert store.find("", 9) == []


def test_an_operation_that_goes_on_elsewhere_is_not_resumed_where_its_jobs_are_imported(run, shop, other):
    jobs = [shop.add() for _ in range(3)]
    told = {"bulk": "X7", "search": "state:waiting", "matched": 3, "plan": "{}", "place": jobs[1]}
    shop.store.cancel(jobs[1:], shop.app.clock.now(), "ada", (), Bulk("X7", "cancel", told))
    assert "X7" in run("bulk").out
    run("export", "-o", "a.jsonl")
    shop.store.cancel(jobs[:1], shop.app.clock.now(), "ada", (), Bulk("X7", "cancel", told | {"place": jobs[0]}))
    run("export", "-o", "b.jsonl")
    run("import", "a.jsonl", "b.jsonl", "--url", other)
    assert "X7" not in run("bulk", "--url", other).out
    assert run("audit", "--url", other).out.count("X7") == 1


def test_a_pipe_is_written_to_and_read_from(run, shop, other):
    jobs = {shop.end() for _ in range(3)}
    os.mkfifo("pipe")
    with ThreadPoolExecutor() as pool:
        text = pool.submit(Path("pipe").read_text, encoding="utf-8")
        assert run("export", "-o", "pipe", "--force").code == exits.OK
        assert {json.loads(line)["job"]["id"] for line in text.result().splitlines()[1:]} == jobs
        assert Path("pipe").is_fifo()
        pool.submit(Path("pipe").write_text, text.result(), encoding="utf-8")
        assert "3 jobs imported" in run("import", "pipe", "--url", other).err


@pytest.mark.parametrize("damage", ["cut", "empty", "missing", "binary"])
def test_a_damaged_file_is_refused(run, shop, other, damage):
    shop.end(payload=json.dumps("x" * 1000))
    run("export", "-o", "a.jsonl.gz")
    data = Path("a.jsonl.gz").read_bytes()
    if damage != "missing":
        Path("b.gz").write_bytes({"cut": data[:-20], "empty": b"", "binary": b"\xff\xfe\n"}[damage])
    result = run("import", "b.gz", "--url", other)
    assert result.code == (exits.MISSING if damage == "missing" else exits.USAGE)
    assert "b.gz" in result.err


def test_a_dry_run_of_an_import_changes_nothing(run, shop):
    job = shop.end()
    run("export", "-o", "a.jsonl")
    shop.store.delete([job], 0, "me")
    assert run("import", "a.jsonl", "--dry-run").err == "1 job would be imported. Nothing changed.\n"
    assert states(shop, [job]) == [None]


def test_stdin_and_several_files_and_jobs_that_come_twice(run, shop, shell, url):
    jobs = [shop.end(), shop.end()]
    text = run("export").out
    run("export", "-o", "a.jsonl")
    shop.store.delete(jobs, 0, "me")
    result = shell("import", "-", "a.jsonl", "--url", url, "--json", stdin=text)
    assert json.loads(result.out)["imported"] == 2
    assert states(shop, jobs) == ["completed"] * 2


def test_an_archive_can_be_imported(run, shop):
    jobs = [shop.end(keep=0) for _ in range(3)]
    run("prune", "--archive", "old")
    assert "3 jobs imported" in run("import", *Path("old").iterdir()).err
    assert states(shop, jobs) == ["completed"] * 3
