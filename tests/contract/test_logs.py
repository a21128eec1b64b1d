"""Logs over many jobs, lines that share a row, details of progress, and when a job was last updated, on every engine."""

import pytest

from mainstay import Mainstay, UsageError
from mainstay.core.job import updated_at
from mainstay.core.outcome import COMPLETED
from mainstay.core.updates import Line, Progress
from mainstay.worker.packed_lines import cleaned, pack
from tests.contract.building import FAILED, log


def packed(job, *messages, at=7, level="info", first=1):
    lines = [Line(n, at, level, None, message, '{"n":1}') for n, message in enumerate(messages, first)]
    return cleaned(pack((job.seq, job.token), lines, 100))


def messages(desk, job, *page):
    return [line.message for line in desk.store.logs(job.id, *(page or (0, 99)))]


def test_lines_that_share_a_row_are_read_one_by_one(desk):
    job = desk.run()
    several = packed(job, "a", "b\n", "c")
    assert [each.lines for each in several] == [3]
    desk.store.finish([], [*several, log(job, 4, "d"), *packed(job, "e", "f", first=5)])
    assert messages(desk, job) == ["a", "b\n", "c", "d", "e", "f"]
    assert [line.fields for line in desk.store.logs(job.id, 0, 4)] == [{"n": 1}] * 3 + [{}]
    for after in range(7):
        for limit in (1, 2, 3, 9):
            assert messages(desk, job, after, limit) == ["a", "b\n", "c", "d", "e", "f"][after : after + limit]
    assert messages(desk, job, 0, 0) == []


def test_lines_that_share_a_row_are_written_once_however_often_they_are_sent(desk):
    job = desk.run()
    for _ in range(2):
        desk.store.finish([], packed(job, "a", "b"))
    assert messages(desk, job) == ["a", "b"]


def test_exports_have_each_line_by_itself(desk, target):
    job = desk.run()
    desk.store.finish([], [*packed(job, "a", "b"), log(job, 3, "c", level="error")])
    desk.end(job, COMPLETED)
    (history,) = desk.store.export_jobs([job.id])
    assert [(line.n, line.message, line.fields) for line in history.logs] == [
        (1, "a", '{"n":1}'), (2, "b", '{"n":1}'), (3, "c", None),
    ]  # fmt: skip
    rows, after = [], None
    while True:
        batch = desk.store.export_rows("logs", after, 1)
        rows += batch.rows
        if (after := batch.after) is None:
            break
    assert rows == history.logs
    target.import_jobs([history])
    assert [line.message for line in target.logs(job.id, 0, 9)] == ["a", "b", "c"]
    assert [line.message for line in target.warnings(0, 9)[0]] == ["c"]


def test_warnings_of_all_jobs_are_found_by_time(desk):
    jobs = [desk.run() for _ in range(5)]
    for n, job in enumerate(jobs):
        at = 1_000 * n
        lines = [log(job, 1, f"{n} fine", at=at), log(job, 2, f"{n} odd", at=at + 1, level="warning")]
        desk.store.finish([], [*lines, *packed(job, f"{n} a", f"{n} bad", at=at + 2, level="error", first=3)])
    found, after = desk.store.warnings(0, 99)
    assert after is None
    assert {line.message for line in found} == {f"{n} {word}" for n in range(5) for word in ("odd", "a", "bad")}
    assert {line.job for line in desk.store.warnings(3_000, 99)[0]} == {jobs[3].id, jobs[4].id}
    pages, place = [], None
    while True:
        some, place = desk.store.warnings(0, 1, place)
        pages += some
        if place is None:
            break
    assert len(pages) == len({(line.job, line.n) for line in pages}) == 15
    assert pages[0].job == jobs[4].id
    assert pages[-1].job == jobs[0].id


def test_warnings_go_with_their_job(desk):
    job = desk.run()
    desk.store.finish([], [log(job, level="error")])
    desk.end(job, COMPLETED)
    desk.store.delete([job.id], desk.now, "me")
    assert desk.store.warnings(0, 9) == ([], None)


def test_details_of_progress_are_kept_and_replaced(desk):
    job = desk.run()
    said = Progress(job.seq, job.token, 7, None, None, None, '{"phase":"embedding"}')
    desk.store.finish([], [said])
    assert desk.job(job.id).details == '{"phase":"embedding"}'
    desk.store.finish([], [said._replace(done=1.0, details=None)])
    assert (desk.job(job.id).done, desk.job(job.id).details) == (1.0, None)


def test_when_a_job_was_last_updated(desk):
    job = desk.run()
    moments = [_updated(desk, job.id)]
    for act in (
        lambda: desk.end(job, FAILED),
        lambda: desk.store.retry([job.id], desk.now, "ada"),
        lambda: desk.end(desk.take_this(job.id), COMPLETED),
    ):
        desk.clock.advance("2s")
        act()
        moments.append(_updated(desk, job.id))
    assert moments == sorted(set(moments))


def _updated(desk, id):
    return updated_at(desk.job(id), desk.store.attempts(id), desk.store.actions(id, 1))


# search_logs ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def app(desk, clock):
    return Mainstay(store=desk.store, clock=clock)


@pytest.fixture
def several(desk):
    """Six jobs of two tenants, each with lines of three levels, one job a second."""
    jobs = []
    for n in range(6):
        desk.clock.advance("1s")
        job = desk.run(tenant="mail" if n % 2 else "shop")
        levels = ("info", "warning", "error")
        desk.store.finish(
            [], [log(job, k, f"{level} {n}", at=desk.now + k, level=level) for k, level in enumerate(levels, 1)]
        )
        jobs.append(job)
    return jobs


def found(app, *given, **asked):
    return [line.message for line in app.search_logs(*given, **asked).lines]


def test_lines_are_found_by_search_level_and_time(app, several):
    assert found(app, level="error") == [f"error {n}" for n in (5, 4, 3, 2, 1, 0)]
    assert found(app, "tenant:mail", level="warning") == [
        f"{level} {n}" for n in (5, 3, 1) for level in ("error", "warning")
    ]
    assert found(app, "tenant:shop", since="2500ms", level="info") == ["error 4", "warning 4", "info 4"]
    assert found(app, f"id:{several[0].id}") == ["error 0", "warning 0", "info 0"]
    assert found(app, "tenant:none", level="error") == found(app, "tenant:none") == []
    (line,) = app.search_logs("tenant:mail", level="error", since="500ms").lines
    assert (line.job, line.level, line.at.tzinfo is not None) == (several[5].id, "error", True)


def test_pages_continue_where_the_last_one_ended(app, several, monkeypatch):
    monkeypatch.setattr("mainstay.control.logs.ROWS", 2)
    monkeypatch.setattr("mainstay.control.logs.JOBS", 2)
    for level in ("error", "debug"):
        lines, after = [], None
        while True:
            page = app.search_logs(level=level, limit=1, after=after)
            lines += page.lines
            if (after := page.after) is None:
                break
        assert {line.message for line in lines} == set(found(app, level=level))
        assert len(lines) == len(found(app, level=level))


def test_a_search_that_finds_little_says_how_far_it_looked(app, several, monkeypatch):
    monkeypatch.setattr("mainstay.control.logs.ROWS", 2)
    monkeypatch.setattr("mainstay.control.logs.MOST", 2)
    page = app.search_logs("tenant:none", level="error")
    assert (page.lines, page.looked, page.after is not None) == ([], 2, True)


@pytest.mark.parametrize(
    ("asked", "says"),
    [({"level": "warn"}, 'did you mean "warning"'), ({"limit": 0}, "at least one line"), ({"since": "soon"}, "since")],
)
def test_what_cannot_be_searched_is_refused(app, asked, says):
    with pytest.raises(UsageError, match=says):
        app.search_logs(**asked)


def test_a_place_of_another_search_is_refused(app, several, monkeypatch):
    monkeypatch.setattr("mainstay.control.logs.ROWS", 1)
    after = app.search_logs(level="error", limit=1).after
    with pytest.raises(UsageError, match="another level"):
        app.search_logs(level="info", after=after)
