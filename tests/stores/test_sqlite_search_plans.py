"""Each path of a search uses its index, by SQLite's own plan, and no search reads past its window."""

import pytest

from mainstay.core.draft import Draft
from mainstay.core.search_terms import Term
from mainstay.query import parse
from mainstay.stores.sql import search
from mainstay.stores.sqlite.dialect import DIALECT
from mainstay.stores.sqlite.store import SqliteStore

NOW = 1_750_000_000_000


@pytest.fixture
def store():
    with SqliteStore("sqlite:///:memory:") as store:
        store.enqueue([Draft("warm-up", "{}")], NOW)
        yield store


def plan(store, text):
    """Return SQLite's plan for the statement that a search runs."""
    terms = parse(text, NOW)
    path = store.read(search._choose(DIALECT, search._paths(terms)))
    checks = [search.check(term, NOW) for term in terms if term not in path.covers]
    bounds = search._bounds(5, 1 if checks else None)
    sql, values = DIALECT.built(search._selected(DIALECT, path, [*checks, *bounds], 51))
    rows = store.db.read(lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall())
    return [row[3] for row in rows]


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("id:01JQ93", "sqlite_autoindex_mainstay_job_1 (id>? AND id<?"),
        ("key:invoice-42", "mainstay_body_key (key=?"),
        ("ref:profile/9", "mainstay_body_ref (ref=?"),
        ("ref:profile/*", "mainstay_body_ref (ref>? AND ref<?"),
        ("tenant:acme/*", "mainstay_body_tenant (tenant>? AND tenant<?"),
        ("code:429", "mainstay_attempt_code (code=?"),
        ("tenant:acme", "mainstay_body_tenant (tenant=?"),
        ("parent:01JQ93", "mainstay_body_parent (parent>? AND parent<?"),
        ("tag:eu", "PRIMARY KEY (tag=?"),
        ("state:queued", search.LANE_INDEX.replace(".", "_")),
        ("state:scheduled", "mainstay_job_due"),
        ("state:retrying", "mainstay_job_due"),
        ("state:running", "mainstay_job_running"),
        ("state:cancelling", "mainstay_job_running"),
        ("state:review", "mainstay_job_review"),
        ("state:dead", "mainstay_job_dead"),
        ("state:dead type:mail.*", "mainstay_job_dead"),
        ("finished:1h", "mainstay_job_finished (finished_at>? AND finished_at<?"),
        ("finished:>2026-01-01", "mainstay_job_finished (finished_at>?"),
        ("key:a error:boom args.x:1", "mainstay_body_key (key=?"),
        ("state:dead error:boom", "mainstay_job_dead"),
    ],
)
def test_the_path_uses_its_index(store, text, index):
    lines = plan(store, text)
    assert any(index in line for line in lines), lines
    assert not [line for line in lines if line.startswith("SCAN mainstay") or line == "SCAN j"], lines


@pytest.mark.parametrize(
    "text", ["", "type:mail", "error:boom", "args.user.id:42 -took:>1s", "tenant:acme", "tag:eu -state:dead"]
)
def test_a_path_in_order_of_seq_needs_no_sort(store, text):
    assert "USE TEMP B-TREE FOR ORDER BY" not in plan(store, text)


@pytest.mark.parametrize("text", ["finished:1h", "id:01JQ", "key:a", "tenant:a,b", "parent:01JQ"])
def test_a_path_that_covers_all_terms_reads_only_the_rows_of_the_page(store, text):
    """The index holds all that the path needs; rows are read only for the ids of the page."""
    lines = [line for line in plan(store, text) if "INDEX" in line]
    assert lines
    assert all("COVERING INDEX" in line for line in lines), lines


def test_the_path_with_the_fewest_candidates_is_chosen(store):
    store.enqueue([Draft("mail", "{}", tenant="acme", tags=("rare",) if n == 7 else ()) for n in range(50)], NOW)
    terms = parse("tenant:acme tag:rare state:queued", NOW)
    assert store.read(search._choose(DIALECT, search._paths(terms))).covers == (terms[1],)


def test_checks_stay_inside_the_window_and_the_next_page_continues(store, monkeypatch):
    monkeypatch.setattr(search, "WINDOW", 10)
    ids = [store.enqueue([Draft("rare" if n in {3, 4} else "mail", "{}")], NOW)[0][0] for n in range(25)]
    rare, seen, after = [Term("type", "=", ("rare",))], [], None
    for _ in range(3):
        page = store.search(rare, 5, after, NOW)
        seen.append((page.ids, page.searched))
        after = page.after
    assert seen == [((), 10), ((), 10), ((ids[4], ids[3]), None)]
    assert after is None


def test_a_window_that_holds_everything_is_not_reported(store, monkeypatch):
    monkeypatch.setattr(search, "WINDOW", 26)
    store.enqueue([Draft("mail", "{}") for _ in range(25)], NOW)
    assert store.search([Term("type", "=", ("nope",))], 5, None, NOW) == ((), None, None)


def test_an_id_is_found_beyond_the_window(store, monkeypatch):
    monkeypatch.setattr(search, "WINDOW", 2)
    (first, _), *_rest = store.enqueue([Draft("mail", "{}") for _ in range(9)], NOW)
    assert store.search(parse(first.lower(), NOW), 5, None, NOW).ids == (first,)


def test_the_next_page_continues_where_a_deleted_job_was(store):
    ids = [store.enqueue([Draft("mail", "{}")], NOW + n)[0][0] for n in range(6)][::-1]
    page = store.search([], 3, None, NOW)
    store.delete([page.after], NOW, "test")
    assert store.search([], 2, page.after, NOW).ids == tuple(ids[3:5])
    assert store.search([], 2, "0" * 26, NOW).ids == ()


def test_a_value_is_never_run_as_sql(store):
    nasty = "x'; DROP TABLE mainstay_job; --"
    for field in ("key", "tag", "type", "error", "text", "worker"):
        assert store.search([Term(field, "=", (nasty,))], 5, None, NOW).ids == ()
    assert store.search([Term("args", "=", (nasty,), path=(nasty,))], 5, None, NOW).ids == ()
    assert len(store.search([], 5, None, NOW).ids) == 1


def test_a_payload_that_is_not_json_does_not_break_the_search(store):
    (job, _), *_ = store.enqueue([Draft("mail", '{"a": NaN}')], NOW)
    assert store.search(parse("args.a:1", NOW), 5, None, NOW).ids == ()
    assert store.search(parse("-args.a:1 type:mail", NOW), 5, None, NOW).ids == (job,)
