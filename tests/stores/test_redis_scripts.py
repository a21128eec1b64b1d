"""The scripts: every file is used, names the parts it needs, and compiles on every server; each runs few commands."""

import functools
import os
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

import mainstay.stores.redis
from mainstay.core.clock import ManualClock
from mainstay.core.search_terms import Term
from mainstay.stores import open_store
from mainstay.stores.redis import record, script
from mainstay.stores.redis.claim import packed
from tests.contract.building import draft, worker
from tests.servers import redis

FOLDER = Path(mainstay.stores.redis.__file__).parent
STATEMENTS = sorted(path.stem for path in (FOLDER / "statements").glob("*.lua"))
MANY_LANES = [name + script.MANY for name in ("claim", "claim_on_wake")]
VARIANTS = [*MANY_LANES, *(name + script.RULED for name in (*script.HOT, *MANY_LANES))]
PARTS = sorted(path.stem for path in (FOLDER / "statements" / "parts").glob("*.lua"))
pytestmark = pytest.mark.engines("redis")


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture(scope="module")
def server_of():
    """Servers that only this test uses: their commands are counted. A server of the user's own has to be as idle."""
    with ExitStack() as stack:
        started = functools.cache(lambda engine: stack.enter_context(redis.Redis(engine)).url())
        yield lambda engine: os.environ.get(redis.VARIABLE) or started(engine)


@pytest.fixture
def store(engine, server_of, clock):
    with redis.prefix(server_of(engine)) as url, open_store(url, clock) as store:
        yield store


def commands(store):
    """How many commands the server has run so far, those inside scripts included."""
    text = store.server.command("INFO", "commandstats")
    return sum(int(calls) for name, calls in re.findall(r"cmdstat_(\S+?):calls=(\d+)", text) if name != "info")


def cost(store, verb):
    """How many commands a verb makes the server run."""
    verb()  # the server knows the script, and the store its connection
    before = commands(store)
    verb()
    return commands(store) - before


# the files --------------------------------------------------------------------------------------------------------
def test_every_statement_is_used():
    code = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))
    unused = [name for name in STATEMENTS if f'"{name}"' not in code]
    assert unused == []


def test_every_part_is_used_and_every_use_is_there():
    lines = [line for name in STATEMENTS for line in text(name).splitlines() if line.startswith(script.USES)]
    uses = [line.replace(script.RARE, "").split()[2:] for line in lines]
    assert len(uses) == len(STATEMENTS)
    assert sorted({"many", *(part for names in uses for part in names)}) == PARTS  # `many` stands in for `few`


def test_jobs_become_queued_or_scheduled_in_one_place():
    """No script but the one door, and the examination behind it, sets these states or a place; those that end a job name its state."""
    everything = "".join(path.read_text(encoding="utf-8") for path in sorted((FOLDER / "statements").rglob("*.lua")))
    set_here = re.findall(r"^ *(r\[.*[^=~<>]=[^=].*)$", everything, re.MULTILINE)
    examined = (
        'r[STATE], r[WAITS], r[ORD], r[RUN_AT], r[RATED] = state, waits or false, ord, run_at or false, state == "s"'
    )
    assert [line for line in set_here if re.search(r"r\[ORD\].* = ", line)] == [
        'r[STATE], r[ORD] = "s", r[RUN_AT]', 'r[STATE], r[ORD], r[WAITS], r[RATED] = "b", ord, waits, false',
        'r[STATE], r[ORD] = "q", ord', examined,
    ]  # fmt: skip
    assert {line.partition(" = ")[2] for line in set_here if re.search(r"r\[STATE\].* = ", line)} == {
        '"s", r[RUN_AT]', '"b", ord, waits, false', '"q", ord', '"v"', '"r", r[TOKEN] + 1, r[ATTEMPT] + 1',
        "state, false, false, at, reason", examined.partition(" = ")[2], '"q", false, false',
    }  # fmt: skip


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_says_first_what_it_promises(name):
    assert re.match(r"-- [A-Z].*[.,a-z:]$", text(name).splitlines()[0])


def text(name):
    return (FOLDER / "statements" / f"{name}.lua").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", STATEMENTS + VARIANTS)
def test_a_statement_compiles(store, name):
    chosen = script.load(name)
    assert store.server.command("SCRIPT", "LOAD", chosen.text) == chosen.sha


# what they cost ---------------------------------------------------------------------------------------------------
def claim(store, clock, limit=5):
    return lambda: store.claim("w", {"default": ["work", "other"]}, limit, clock.now())


@pytest.fixture
def joined(store, clock):
    store.register(worker("w", clock.now()))
    return store


def test_unknown_types_in_front_do_not_make_a_claim_dearer(joined, clock):
    joined.enqueue([draft() for _ in range(100)], clock.now())
    alone = cost(joined, claim(joined, clock))
    joined.enqueue([draft("strange", priority=9) for _ in range(3_000)], clock.now())
    assert cost(joined, claim(joined, clock)) == alone


MANY = {f"queue{n}": [f"type{k}" for k in range(300)] for n in range(300)}


@pytest.mark.parametrize("limit", [1, 50])
def test_many_lanes_cost_commands_only_where_jobs_wait(joined, clock, limit):
    """Of 90,000 lanes one has jobs: three commands more than one lane (how many lanes there are, which, and its end)."""
    joined.enqueue([draft("type7", queue="queue7") for _ in range(300)], clock.now())
    one = cost(joined, lambda: joined.claim("w", {"queue7": ["type7"]}, limit, clock.now()))
    assert cost(joined, lambda: joined.claim("w", MANY, limit, clock.now())) <= one + 3


def test_a_worker_with_many_lanes_at_rest_costs_no_more_than_one_with_one_lane(joined, clock):
    joined.enqueue([draft("type7", queue="queue7")], clock.now())
    joined.claim("w", MANY, 5, clock.now())
    one = cost(joined, lambda: joined.claim("w", {"queue7": ["type7"]}, 5, clock.now()))
    assert cost(joined, lambda: joined.claim("w", MANY, 5, clock.now())) <= one


def test_a_lane_that_was_found_empty_is_not_visited_again(joined, clock):
    wants = {"queue7": MANY["queue7"]}
    idle = cost(joined, lambda: joined.claim("w", wants, 5, clock.now()))
    ids = [job for job, _ in joined.enqueue([draft(f"type{n}", queue="queue7") for n in range(50)], clock.now())]
    joined.cancel(ids, clock.now(), "me")
    assert (
        cost(joined, lambda: joined.claim("w", wants, 5, clock.now())) <= idle
    )  # the first of two claims removes them


def test_a_backlog_does_not_make_a_claim_dearer(joined, clock):
    joined.enqueue([draft() for _ in range(100)], clock.now())
    small = cost(joined, claim(joined, clock))
    joined.enqueue([draft() for _ in range(5_000)], clock.now())
    joined.enqueue([draft(run_at=clock.now() + 10**6) for _ in range(1_000)], clock.now())
    assert cost(joined, claim(joined, clock)) == small


def test_a_claim_of_many_runs_hardly_more_commands_than_a_claim_of_one(joined, clock):
    joined.enqueue([draft() for _ in range(1_000)], clock.now())
    one, many = cost(joined, claim(joined, clock, 1)), cost(joined, claim(joined, clock, 200))
    assert many < one + 50  # further pieces of the lane; nothing a job


def test_records_are_so_long_that_the_count_of_blocked_jobs_finds_their_lanes():
    """A packed array of up to 15 values has one byte in front of them, not three."""
    assert record.SHORT > 15


def test_a_bulk_enqueue_runs_hardly_more_commands_than_one_job(store, clock):
    one = cost(store, lambda: store.enqueue([draft()], clock.now()))
    assert cost(store, lambda: store.enqueue([draft() for _ in range(1_000)], clock.now())) <= one + 10


def test_one_enqueue_is_one_round_trip(store, clock, monkeypatch):
    store.enqueue([draft()], clock.now())
    trips, exchange = [], store.server._exchange
    monkeypatch.setattr(store.server, "_exchange", lambda commands: (trips.append(commands), exchange(commands))[1])
    store.enqueue([draft(tags=("a",), tenant="t")], clock.now())
    assert len(trips) == 1


@pytest.mark.parametrize(
    "terms",
    [[], [Term("tenant", "=", ("rare",))], [Term("state", "=", ("dead",))], [Term("tag", "=", ("rare",))]],
    ids=["all", "tenant", "dead", "tag"],
)
def test_a_search_by_an_index_reads_no_more_than_it_answers(store, clock, terms):
    store.enqueue([draft(tenant="rare", tags=("rare",))], clock.now())
    small = cost(store, lambda: store.search(terms, 5, None, clock.now()))
    store.enqueue([draft(tenant="often") for _ in range(3_000)], clock.now())
    assert cost(store, lambda: store.search(terms, 5, None, clock.now())) == small


def test_a_search_that_checks_every_job_stops_at_its_window(store, clock, monkeypatch):
    from mainstay.stores.redis import search

    monkeypatch.setattr(search, "WINDOW", 1_000)
    ((old, _),) = store.enqueue([draft(priority=7)], clock.now())
    store.enqueue([draft() for _ in range(2_000)], clock.now())
    terms = [Term("priority", "=", (7,))]
    page = store.search(terms, 5, None, clock.now())
    assert (page.ids, page.searched) == ((), 1_000)
    while page.after is not None:
        page = store.search(terms, 5, page.after, clock.now())
    assert page.ids == (old,)


def test_a_waiting_job_takes_less_than_a_kilobyte(store, clock):
    store.enqueue([draft()], clock.now())
    before = int(store.diagnostics()["size"])
    store.enqueue([draft(payload=f'"{"x" * 200}"') for _ in range(5_000)], clock.now())
    assert (int(store.diagnostics()["size"]) - before) / 5_000 < 1_000


def test_what_a_worker_with_many_lanes_sends_with_a_claim_is_a_few_kilobytes():
    """300 queues with 300 types each: every name once, not each of the 90,000 lanes."""
    types = MANY["queue0"]
    kind, values = packed(dict.fromkeys(MANY, types))
    assert kind == script.MANY
    assert sum(len(str(value)) for value in values) < 50_000
