"""Search on every engine: each field of a term, how terms combine, the order, and the pages."""

import pytest

from mainstay.core.clock import HOUR, SECOND
from mainstay.core.decide import decide
from mainstay.core.draft import Draft
from mainstay.core.errors import UsageError
from mainstay.core.job import WorkerInfo
from mainstay.core.outcome import COMPLETED, Outcome
from mainstay.core.search_terms import Term
from mainstay.query import parse

WORKER = "searcher"
FAILED = Outcome("failed", error="ReadTimeout: 100% of api.example_1 gone", traceback="…")
GONE_WRONG = Outcome("failed", error="ValueError: no such page", traceback="…", retry=False, reason="permanent")


@pytest.fixture
def shop(store, clock):
    return Shop(store, clock)


class Shop:
    """Jobs brought into the states that a search is about."""

    def __init__(self, store, clock):
        self.store, self.clock = store, clock
        now = clock.now()
        info = WorkerInfo(WORKER, "host", 1, 8, ("default",), ("mail",), now, now, now + 1000 * HOUR, 0, stopping=False)
        store.register(info)

    def add(self, type="mail", payload="{}", **options):
        ((job, created),) = self.store.enqueue([Draft(type, payload, **options)], self.clock.now())
        assert created
        return job

    def run(self, type="mail", outcome=None, seconds=1, **options):
        """A job that has been claimed and, with an outcome, finished."""
        job = self.add(type, backoff=f"{HOUR} {HOUR} 1 0", **options)
        (claimed,) = self.store.claim(WORKER, {"default": [type]}, 1, self.clock.now()).jobs
        assert claimed.id == job
        self.clock.advance(seconds)
        if outcome is not None:
            verdicts = self.store.finish([decide(claimed, outcome, self.clock.now(), lambda: 0.0)])
            assert verdicts == ["stored"]
        return job

    def find(self, text, limit=50):
        return list(self.store.search(parse(text, self.clock.now()), limit, None, self.clock.now()).ids)


def test_without_terms_every_job_is_found_newest_first(shop):
    jobs = [shop.add() for _ in range(5)]
    assert shop.find("") == jobs[::-1]


def test_pages_follow_each_other_without_gap_or_repeat(shop):
    jobs = [shop.add(tenant="acme") for _ in range(7)]
    for terms in ([], [Term("tenant", "=", ("acme",))], [Term("type", "=", ("mail",))]):
        seen, after, pages = [], None, 0
        while pages == 0 or after is not None:
            page = shop.store.search(terms, 3, after, shop.clock.now())
            seen, after, pages = [*seen, *page.ids], page.after, pages + 1
        assert seen == jobs[::-1]
        assert pages == 3


def test_a_page_that_is_exactly_full_is_the_last(shop):
    jobs = [shop.add() for _ in range(3)]
    page = shop.store.search([], 3, None, shop.clock.now())
    assert (page.ids, page.after) == (tuple(jobs[::-1]), None)


def test_what_was_asked(shop):
    plain = shop.add("mail.send", queue="slow", priority=3)
    rich = shop.add(
        "mail.receive",
        key="k 1",
        lock="mail.receive:k 1",
        tenant="acme",
        ref="profile/9",
        tags=("eu", "new"),
        parent=plain,
    )
    assert shop.find("type:mail.send") == [plain]
    assert shop.find("type:mail.*") == [rich, plain]
    assert shop.find("type:mail.receive,mail.send") == [rich, plain]
    assert shop.find("type:mail") == []
    assert shop.find("queue:slow") == [plain]
    assert shop.find("priority:>2") == [plain]
    assert shop.find("priority:0,1") == [rich]
    for text in ('key:"k 1"', "tenant:acme", "ref:profile/9", "tag:eu", "tag:new,eu", f"parent:{plain}"):
        assert shop.find(text) == [rich], text
        assert shop.find("-" + text) == [plain], text
    assert shop.find("tenant:acme tag:us") == []
    assert shop.find("tenant:acme tag:eu type:mail.*") == [rich]


@pytest.mark.parametrize("field", ["ref", "tenant"])
def test_references_of_a_type(shop, field):
    """The star stands for the rest behind a slash; everywhere else it is a star."""
    refs = (
        "profile/9",
        "profile/",
        "profile/a/b",
        "profile",
        "profile0",
        "profile.",
        "Profile/9",
        "order/7",
        "profile/é",
        "pro*",
    )
    jobs = {ref: shop.add(**{field: ref}) for ref in refs}
    plain = shop.add()
    found = {jobs[ref] for ref in refs if ref.startswith("profile/")}
    assert shop.find(f"{field}:profile/*") == sorted(found, reverse=True)
    assert set(shop.find(f"{field}:profile/*,order/7,profile/9")) == found | {jobs["order/7"]}
    assert shop.find(f"{field}:profile/a/*") == [jobs["profile/a/b"]]
    assert set(shop.find(f"-{field}:profile/*")) == {*jobs.values(), plain} - found
    assert set(shop.find(f"{field}:profile/* type:mail")) == found
    assert shop.find(f"{field}:pro*") == [jobs["pro*"]]
    assert shop.find(f"{field}:nobody/*") == []


def test_ids_may_be_shortened(shop):
    first, second = shop.add(), shop.add()
    assert shop.find(f"id:{second}") == [second]
    assert shop.find(f"id:{second.lower()}") == [second]
    assert shop.find(f"id:{first[:5]}") == [second, first]
    assert shop.find(f"id:{first},{second},{first[:5]}") == [second, first]
    assert shop.find(second) == [second]
    assert shop.find(f"-{second}") == [first]


def test_states_and_what_people_call_them(shop):
    done = shop.run(outcome=COMPLETED)
    dead = shop.run(outcome=GONE_WRONG)
    retrying = shop.run(outcome=FAILED)
    review = shop.run(outcome=Outcome("review", reason="look"))
    cancelling, running = shop.run(), shop.run()
    shop.store.cancel([cancelling], shop.clock.now(), "test")
    later = shop.add(run_at=shop.clock.now() + 500 * HOUR)
    cancelled, queued = shop.add(), shop.add()
    shop.store.cancel([cancelled], shop.clock.now(), "test")
    expected = {
        "queued": [queued], "scheduled": [later, retrying], "retrying": [retrying], "running": [running, cancelling],
        "cancelling": [cancelling], "review": [review], "completed": [done], "cancelled": [cancelled], "dead": [dead],
        "blocked": [], "waiting": [queued, later, retrying], "ended": [cancelled, dead, done],
        "alive": [queued, later, running, cancelling, review, retrying], "dead,retrying": [retrying, dead],
        "scheduled,retrying": [later, retrying], "running,cancelling": [running, cancelling],
    }  # fmt: skip
    assert {label: shop.find(f"state:{label}") for label in expected} == expected
    assert shop.find("-state:alive") == [cancelled, dead, done]
    assert shop.find("state:dead type:mail") == [dead]
    assert shop.find("state:dead type:sms") == []


def test_attempts_and_workers(shop):
    new, once = shop.add("other"), shop.run(outcome=FAILED)
    running = shop.run()
    assert shop.find("attempt:>0") == [running, once]
    assert shop.find("attempt:0") == [new]
    assert shop.find(f"worker:{WORKER}") == [running, once]
    assert shop.find(f"worker:{WORKER[:4]}") == [running, once]
    assert shop.find("worker:nobody") == []


def test_errors_are_found_as_text_in_any_case(shop):
    timeout, dead, fine = shop.run(outcome=FAILED), shop.run(outcome=GONE_WRONG), shop.run(outcome=COMPLETED)
    assert shop.find("error:readtimeout") == [timeout]
    assert shop.find('error:"no such page",ReadTimeout') == [dead, timeout]
    assert shop.find("error:permanent") == [dead]  # the reason counts too
    assert shop.find("error:100%") == [timeout]
    assert shop.find("error:1%0") == shop.find("error:exampleX1") == []  # no wildcards
    assert shop.find("-error:e") == [fine]


def test_a_word_is_looked_for_in_id_type_and_error(shop):
    by_error, by_type = shop.run(outcome=FAILED), shop.add("timeout_report")
    assert shop.find("timeout") == [by_type, by_error]
    assert shop.find("timeout -report") == [by_error]
    assert shop.find('"gone"') == [by_error]


def test_arguments(shop):
    number = shop.add(payload='{"user": {"id": 42, "ok": true, "none": null, "size": 1.5}, "a b": "x"}')
    text = shop.add(payload='{"user": {"id": "42", "ok": "true", "none": "null", "size": "big"}}')
    assert shop.find("args.user.id:42") == shop.find("args.user.id:7,42") == [text, number]
    assert shop.find("args.user.id:42.0") == [number]
    assert shop.find("args.user.ok:true") == shop.find("args.user.none:null") == [text, number]
    assert shop.find("args.user.ok:1") == shop.find("args.user.none:0") == []
    assert shop.find("args.user.size:>1") == [number]
    assert shop.find("args.user.size:<=1.5") == [number]
    assert shop.find("args.user.size:big") == [text]
    assert shop.find("args.user:42") == shop.find("args.missing:1") == []
    assert shop.find("-args.user.size:big") == [number]
    assert shop.store.search([Term("args", "=", ("x",), path=("a b",))], 5, None, shop.clock.now()).ids == (number,)


def test_times(shop):
    old = shop.run(outcome=COMPLETED, seconds=90)
    shop.clock.advance("3h")
    young = shop.run(outcome=COMPLETED, seconds=2)
    waiting = shop.add()
    assert shop.find("age:>1h") == shop.find("-created:1h") == [old]
    assert shop.find("age:<1h") == shop.find("created:1h") == [waiting, young]
    assert shop.find("finished:1h") == [young]
    assert shop.find("-finished:1h") == [waiting, old]
    assert shop.find("took:>30s") == [old]
    assert shop.find("took:<=2s") == [young]
    assert shop.find("finished:1h took:>30s") == []
    edge = shop.store.get(old).finished_at
    assert shop.store.search([Term("finished", "<=", (edge,))], 5, None, 0).ids == (old,)
    assert shop.store.search([Term("finished", "=", (0, edge))], 5, None, 0).ids == ()
    assert shop.store.search([Term("finished", "=", (0, edge, edge, edge + 1))], 5, None, 0).ids == (old,)


def test_a_running_job_takes_until_now(shop):
    running = shop.run(seconds=5)
    assert shop.find("took:>4s") == [running]
    shop.clock.advance(10 * SECOND // 1000)
    assert shop.find("took:<10s") == []


@pytest.mark.parametrize(
    ("term", "words"),
    [
        (Term("colour", "=", ("red",)), "cannot search by 'colour'"),
        (Term("key", "=", ()), "cannot search by 'key'"),
        (Term("key", "<", ("k",)), "cannot compare key with '<'; it can with ="),
        (Term("priority", "~", (1,)), "cannot compare priority with '~'"),
        (Term("args", "=", ("x",), path=('a"b',)), "cannot reach names with a quote"),
        (Term("args", "=", ("x",)), "cannot reach names"),
    ],
)
def test_a_term_that_no_store_can_search_is_refused(store, clock, term, words):
    for each in (term, term._replace(negated=True)):
        with pytest.raises(UsageError, match=words):
            store.search([each], 5, None, clock.now())


def test_a_page_without_room_is_refused(store, clock):
    with pytest.raises(UsageError, match="at least one job"):
        store.search([], 0, None, clock.now())


@pytest.mark.engines("postgres")
@pytest.mark.parametrize(
    "text",
    ["error:boom", "-error:boom", "worker:w", "boom", "tag:eu -tag:us", "state:dead boom", "args.a:1", "took:>1s"],
)
def test_a_search_on_postgresql_scans_no_table(shop, text):
    """Not even once, to hash it: `attempt` grows with the history."""
    from mainstay.stores.sql.search import search_operations

    for _ in range(3):
        shop.run(outcome=FAILED, tags=("eu", "us"))
    store, now = shop.store, shop.clock.now()
    plans = store.db.run(lambda: explained(search_operations(store.dialect, parse(text, now), 5, None, now)))
    assert plans
    assert "Seq Scan" not in "\n".join(plans)


def explained(operations):
    """Drive a search and return the plan of each of its statements."""
    plans, statement = [], next(operations)
    while True:
        if "set_config" not in statement.text:
            plan = yield statement._replace(text="EXPLAIN (COSTS OFF) " + statement.text)
            plans += [row[0] for row in plan.rows]
        result = yield statement
        try:
            statement = operations.send(result)
        except StopIteration:
            return plans


def test_states_in_which_there_is_no_job(shop):
    assert shop.find("state:queued") == shop.find("state:queued type:none") == shop.find("state:dead,queued") == []


SNOWFLAKE = 1_234_567_890_123_456_789
BEYOND = 123_456_789_012_345_678_901_234  # neither 64 bits nor a double hold it


@pytest.mark.parametrize("number", [SNOWFLAKE, BEYOND, -BEYOND, 2**53 + 1, 2**63, "0.1234567890123456789", "1e30"])
def test_a_long_number_is_found_and_its_neighbour_is_not(shop, number):
    text = "1000000000000000000000000000000" if number == "1e30" else str(number)
    there = shop.add(payload=f'{{"id": {number}, "deep": {{"a b": {number}}}}}')
    near = shop.add(payload=f'{{"id": {_next(text)}, "text": "{text}"}}')
    assert shop.find(f"args.id:{text}") == shop.find(f"args.id:7,{text}") == [there]
    assert shop.find(f"args.id:{_next(text)}") == [near]
    assert shop.find(f"args.id:>={text} args.id:<={text}") == [there]
    assert shop.find(f"args.id:>{text}") == ([near] if text[0] != "-" else [])
    assert shop.find(f"args.text:{text}") == [near]
    path = Term("args", "=", (text,), path=("deep", "a b"))
    assert shop.store.search([path], 5, None, shop.clock.now()).ids == (there,)


def _next(text):
    """The number that is one step further from zero."""
    digits = str(int(text.replace("-", "").replace(".", "")) + 1)
    return f"0.{digits}" if "." in text else "-" * (text[0] == "-") + digits


def test_a_text_folds_the_case_of_ascii_only(shop):
    """As on PostgreSQL in the C locale and on SQLite: the same on every engine."""
    job = shop.run(outcome=Outcome("failed", error="ÄRGER im LAGER", traceback="…"))
    assert shop.find("error:Ärger") == shop.find("error:lager") == [job]
    assert shop.find("error:ärger") == []
