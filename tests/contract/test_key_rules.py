"""Keys that a type declares: with the code, by name without it, in bulk, in the caller's transaction; and the shortcuts."""

import asyncio

import pytest

from mainstay import (
    Conflict,
    DuplicateKey,
    InvalidPayload,
    JobGone,
    Mainstay,
    NotFound,
    UsageError,
    by,
    by_payload,
)


@pytest.fixture
def app(store, clock):
    return Mainstay(store=store, clock=clock)


@pytest.fixture
def stranger(store, clock):
    """A program without the code."""
    return Mainstay(store=store, clock=clock)


def declared(app, **options):
    """A type that is registered with these options, as by a worker."""

    @app.job(**options)
    def work(id: int = 0, customer: dict | None = None, note: str = ""):
        return id

    app.store.register_types([work.info(app.clock.now())])
    return work


def ended(app, handle):
    """Let a job end and go."""
    app.cancel(handle.id)
    app.delete(handle.id)


# rules -------------------------------------------------------------------------------------------------------------
def test_a_type_makes_its_keys_from_a_field(app):
    work = declared(app, key=by("customer.id"))
    first = work.enqueue(1, {"id": "c-1"})
    again = work.enqueue(2, {"id": "c-1"})
    assert (again.id, again.created) == (first.id, False)
    assert work.enqueue(1, {"id": "c-2"}).created
    assert app.get(first.id).key == "c-1"


def test_a_type_makes_its_keys_from_several_fields_or_the_payload(app):
    work = declared(app, key=by("customer.id", "id"))
    assert app.get(work.enqueue(7, {"id": "c-1"}).id).key == '["c-1",7]'
    by_all = work.options(key=by_payload)
    assert by_all.enqueue(1, note="x").created
    assert not app.enqueue("work", {"note": "x", "id": 1}, key=by_payload).created
    assert by_all.enqueue(2, note="x").created


def test_a_call_overrules_what_the_type_declares(app, clock):
    work = declared(app, key=by("id"), unique="forever")
    assert work.options(key="mine").prepare(1).lock == "work:mine"
    assert work.options(unique="start").prepare(1).lock_until == 0
    assert work.options(period="1h").prepare(1).lock_until > clock.now()
    assert work.options(on_conflict="raise").prepare(1).key == "1"


@pytest.mark.parametrize("name", ["with the code", "by name", "in bulk", "by name in bulk"])
def test_a_payload_that_lacks_the_field_is_refused_and_nothing_enqueued(app, stranger, name):
    work = declared(app, key=by("customer.id"))
    ways = {
        "with the code": lambda: work.enqueue(1),
        "by name": lambda: stranger.enqueue("work", {"id": 1}),
        "in bulk": lambda: app.enqueue_many(work.prepare(1, customer) for customer in ({"id": 1}, {})),
        "by name in bulk": lambda: stranger.enqueue_many(
            [stranger._draft("work", each, {}) for each in ({"customer": {"id": 1}}, {})]
        ),
    }
    with pytest.raises(InvalidPayload, match=r"by\('customer.id'\).*payload of work is missing: send it"):
        ways[name]()
    assert app.list() == []


def test_a_producer_without_the_code_follows_the_rule(app, stranger):
    work = declared(app, key=by("id"), unique="forever", on_conflict="raise")
    first = stranger.enqueue("work", {"id": 7})
    assert app.get(first.id).key == "7"
    with pytest.raises(DuplicateKey, match=first.id):
        stranger.enqueue("work", {"id": 7})
    assert stranger.enqueue("work", {"id": 7}, on_conflict="existing", key=by("id")).id == first.id
    ended(app, first)
    assert work.options(on_conflict="existing").enqueue(7).id == first.id
    assert [each.job for each in app.store.keys("", 9)] == [first.id]


def test_a_producer_without_the_code_may_choose_its_own_key(app, stranger, clock):
    declared(app, key=by("id"), period="1h")
    first = stranger.enqueue("work", {"id": 7}, key="mine")
    app.cancel(first.id)
    assert stranger.enqueue("work", {"id": 8}, key="mine").id == first.id, "the type's period holds"
    own = stranger.enqueue("work", {"id": 8}, key="mine", unique="alive")
    assert own.created
    assert (app.get(own.id).key, app.store.get(own.id).state) == ("mine", "queued")


@pytest.mark.parametrize(
    "rule",
    [{"key": by_payload}, {"key": "one"}, {"key": by("note"), "unique": "start"}, {"key": by("id"), "period": "1h"}],
)
def test_every_rule_means_the_same_with_and_without_the_code(app, stranger, rule):
    work = declared(app, **rule)
    ours = work.enqueue(id=7, note="x")
    theirs = stranger.enqueue("work", {"id": 7, "note": "x"})
    assert (theirs.id, theirs.created) == (ours.id, False)


def test_in_one_batch_by_name_the_first_takes_the_key(app, stranger):
    declared(app, key=by("id"))
    drafts = [stranger._draft("work", {"id": n % 3}, {}) for n in range(9)]
    handles = stranger.enqueue_many(drafts)
    assert [handle.created for handle in handles] == [True] * 3 + [False] * 6
    assert len({handle.id for handle in handles}) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key": by("id"), "unique": "forever", "period": "1h"}, "not both"),
        ({"unique": "forever"}, "needs key="),
        ({"key": by}, r"by\('field'\)"),
        ({"key": ["id"]}, r"by\('field'\)"),
        ({"key": by("id"), "unique": "ever"}, "'alive'.*'start'.*'forever'"),
        ({"key": by("id"), "period": "often"}, "period: 'often' is not a duration"),
        ({"key": by("id"), "on_conflict": "ignore"}, "existing, replace, raise"),
    ],
)
def test_a_wrong_declaration_says_what_is_right(app, options, words):
    with pytest.raises(UsageError, match=words):
        declared(app, **options)
    work = declared(app)
    with pytest.raises(UsageError, match=words):
        work.options(**options)


# for ever ----------------------------------------------------------------------------------------------------------
def test_the_result_of_a_job_that_is_gone(app):
    work = declared(app, key=by("id"), unique="forever")
    first = work.enqueue(7)
    ended(app, first)
    again = work.enqueue(7)
    assert (again.id, again.created) == (first.id, False)
    with pytest.raises(JobGone, match=f"job {first.id} had the key"):
        again.result(timeout=1)
    with pytest.raises(JobGone):
        asyncio.run(again.aresult(timeout=1))
    with pytest.raises(NotFound):
        again.job()


def test_a_forgotten_key_is_free(app):
    work = declared(app, key=by("id"), unique="forever")
    first = work.enqueue(7)
    ended(app, first)
    assert app.forget_key("work", "7", actor="ada") == first.id
    assert work.enqueue(7).created
    assert (app.actions()[0].action, app.actions()[0].actor) == ("forget_key", "ada")
    with pytest.raises(NotFound, match=r"'8' of type work is not taken for ever"):
        app.forget_key("work", "8")


def test_a_refused_retry_names_the_job_that_has_the_key(app):
    work = declared(app, key=by("id"))
    old = work.enqueue(7)
    app.cancel(old)
    new = work.enqueue(7)
    with pytest.raises(Conflict, match=f"job {new.id} holds the key '7': wait for that one"):
        app.retry(old)


# shortcuts ---------------------------------------------------------------------------------------------------------
def test_debounce_waits_until_the_calls_have_stopped(app, clock):
    work = declared(app, key=by("id"))
    first = work.debounce("5s").enqueue(7, note="a")
    due = app.store.get(first.id).run_at
    clock.advance("3s")
    again = work.debounce("5s").enqueue(7, note="b")
    job = app.store.get(first.id)
    assert (again.id, job.run_at, job.payload) == (first.id, due + 3_000, '{"id":7,"note":"b"}')
    assert work.debounce("5s").enqueue(8).created
    assert work.debounce("5s", key="other").enqueue(7).created


def test_a_debounced_job_that_runs_is_followed_by_another(app, clock, desk):
    work = declared(app, key=by("id"))
    first = work.debounce("5s").enqueue(7)
    clock.advance("6s")
    desk.take_this(first.id)
    assert work.debounce("5s").enqueue(7).created


def test_throttle_makes_one_job_a_period(app, clock):
    work = declared(app, key=by("id"))
    first = work.throttle("1m").enqueue(7)
    app.cancel(first)
    assert work.throttle("1m").enqueue(7).id == first.id
    clock.advance("1m")
    assert work.throttle("1m").enqueue(7).created


@pytest.mark.parametrize("verb", ["debounce", "throttle"])
def test_a_shortcut_needs_a_key_and_sets_the_rest(app, verb):
    work = declared(app)
    with pytest.raises(UsageError, match=f"{verb} needs a key: @app.job"):
        getattr(work, verb)("5s")
    for name in ("unique", "period", "on_conflict"):
        with pytest.raises(UsageError, match=f"{verb} takes no {name}="):
            getattr(work, verb)("5s", key="k", **{name: "alive"})
    with pytest.raises(UsageError, match="not a duration"):
        getattr(work, verb)("often", key="k")
    assert getattr(work, verb)("5s", key=by("id"), priority=3).prepare(id=1).priority == 3
