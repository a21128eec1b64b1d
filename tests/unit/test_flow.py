"""Flow control as programs declare it and operators change it: options, declarations, records, and errors that name the fix."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from mainstay import (
    Breaker,
    Draft,
    InvalidPayload,
    Limit,
    Mainstay,
    ManualClock,
    NotFound,
    QueueFull,
    TypeDisabled,
    UnknownType,
    UsageError,
    by,
    ctx,
)  # fmt: skip
from mainstay.core import rules
from mainstay.core.draft import restored
from mainstay.core.job import WorkerInfo
from mainstay.testing import Trial


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def app(clock):
    made = Mainstay("sqlite:///:memory:", clock=clock)
    yield made
    made.close()


@pytest.fixture
def mail(app):
    @app.job(queue="post", limit=[Limit(running=2, key="tenant"), Limit(rate="10/s", burst=3, name="api")])
    def mail(to: str = "ada"):
        """Send one mail.

        And more.
        """

    return mail


def work(app, count=9):
    """Register this program's worker, run what may run, and return how many jobs ran."""
    from mainstay.testing.kit import InlineWorker

    worker = InlineWorker(app)
    worker.drain()
    return sum(worker.tally.ways.values())


def rules_of(draft):
    return rules.unpack(draft.rules)


# declarations ---------------------------------------------------------------------------------------------------------
def test_a_type_gives_its_limits_to_its_jobs(mail):
    draft = mail.options(tenant="acme/a").prepare("bob")
    assert rules_of(draft) == {
        "limits": [["mail/tenant", "acme/a", 2]],
        "rates": [["api", "", 100_000, 3]],
    }
    assert draft.waits == "mail/tenant\nacme/a"


def test_a_type_without_rules_gives_none(app):
    plain = app.job(name="plain")(lambda: None)
    assert (plain.flow, plain.prepare().rules, plain.prepare().waits) == (None, None, None)


def test_what_a_type_registers(mail):
    info = mail.info(5)
    assert info.description == "Send one mail."
    assert [spec["name"] for spec in info.policy["limits"]] == ["mail/tenant", "api"]
    assert json.loads(info.takes)["properties"] == {"to": {"default": "ada", "type": "string"}}


def test_a_description_and_a_breaker_of_ones_own(app):
    made = app.job(name="x", description="What it does.", breaker=Breaker(0.2, of=10, rest="1m"))(lambda: None)
    info = made.info(5)
    assert (info.description, info.policy["breaker"]) == ("What it does.", [0.2, 10, 60_000])
    assert rules_of(made.prepare()) == {"breaker": [0.2, 10, 60_000]}


def test_a_key_by_a_function_works_where_the_code_is_and_is_refused_elsewhere(app):
    app.job(name="x", limit=Limit(running=1, key=lambda payload: payload["n"] % 2))(_number)
    app.enqueue("x", {"n": 3})
    work(app)
    (_, key, _) = rules_of(app.registry["x"].prepare(5))["limits"][0]
    assert key == "1"
    elsewhere = Mainstay(store=app.store, clock=app.clock)
    with pytest.raises(UsageError, match="computes its key by code that is not here"):
        elsewhere.enqueue("x", {"n": 3})


def _number(n: int):
    pass


def test_a_key_path_that_the_payload_lacks_is_named(app):
    app.job(name="x", limit=Limit(running=1, key=by("customer.id")))(_number)
    with pytest.raises(InvalidPayload, match=r"'customer.id' in the payload of x is missing"):
        app.enqueue("x", {"n": 3})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"limit": 5}, "Limit"),
        ({"limit": ["5/s"]}, "a list of them"),
        ({"limit": [Limit(1), Limit(2)]}, "name="),
        ({"breaker": 0.5}, "Breaker"),
        ({"description": 7}, "a text"),
    ],
)
def test_declarations_that_cannot_be(app, given, said):
    with pytest.raises(UsageError, match=said):
        app.job(name="x", **given)(lambda: None)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Limit, "running="),
        (lambda: Limit(running=0), "whole number from 1"),
        (lambda: Limit(running=-1), "pause their type"),
        (lambda: Limit(rate="ten/s"), '"10/s"'),
        (lambda: Limit(rate="0/s"), '"10/s"'),
        (lambda: Limit(running=1, burst=0), "burst=0"),
        (lambda: Limit(running=1, key="user"), r"by\('user'\)"),
        (lambda: Breaker(failures=2), "up to 1"),
        (lambda: Breaker(of=99), "60"),
        (lambda: Breaker(rest=0), "above zero"),
    ],
)
def test_limits_and_breakers_that_cannot_be(make, said):
    with pytest.raises(UsageError, match=said):
        make()


# options --------------------------------------------------------------------------------------------------------------
def test_parents_are_handles_jobs_or_ids(app):
    app.job(name="x")(lambda: None)
    one, two = app.enqueue("x"), app.enqueue("x")
    draft = app.registry["x"].options(after=[one, app.get(two), one.id.lower()], if_parent_fails="run").prepare()
    assert (draft.after, rules_of(draft)["after"]) == ((one.id, two.id), "run")
    assert rules_of(draft)["parents"] == [one.id, two.id]
    assert draft.waits == rules.EXAMINE
    assert app.registry["x"].options(after=one).prepare().after == (one.id,)
    plain = app.registry["x"].options(after=[]).prepare()
    assert (plain.after, plain.rules) == ((), None)
    assert restored(draft.values()).after == draft.after


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"after": ["01ABC"]}, "whole id"),
        ({"after": [7]}, "whole id"),
        ({"after": [f"01ARZ3NDEKTSV4RRFFQ69{n:05}" for n in range(1_001)]}, "1,001 jobs.*put jobs in between"),
        ({"after": [Draft("x", "{}")]}, "enqueue it first"),
        ({"if_parent_fails": "run"}, "needs after="),
        ({"after": ["0" * 26], "if_parent_fails": "die"}, "cancel, run, dead"),
        ({"start_by": 0}, "above zero"),
        ({"start_by": "soon"}, "start_by: 'soon' is not a duration"),
        ({"start_by": datetime(2030, 1, 1)}, "start_by=2030.*no time zone"),  # noqa: DTZ001
        ({"start_by": datetime(2020, 1, 1, tzinfo=UTC)}, "in the past"),
        ({"start_by": "1m", "delay": "1h"}, "before the job may start"),
        ({"tenant": "a/b/c"}, "two with a slash"),
        ({"tenant": "a/"}, "two with a slash"),
    ],
)
def test_options_that_cannot_be(app, given, said):
    with pytest.raises(UsageError, match=said):
        app.enqueue("x", **given)
    assert app.list() == []


def test_a_parent_that_does_not_exist(app):
    with pytest.raises(NotFound, match="after: there is no job 0000"):
        app.enqueue("x", after=["0" * 26])
    assert app.list() == []


def test_start_by_is_a_duration_or_an_instant(app, clock):
    by_duration = app.get(app.enqueue("x", start_by="1h"))
    at = datetime(2030, 1, 1, tzinfo=UTC)
    by_instant = app.get(app.enqueue("x", start_by=at))
    assert (
        by_duration.start_by == clock.now() + 3_600_000
        or by_duration.start_by - by_duration.created_at == timedelta(hours=1)
    )
    assert json.loads(by_instant.rules) == {"start_by": round(at.timestamp() * 1000)}


# queues ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_depth": 0}, "max_depth=0: a whole number from 1"),
        ({"max_depth": "many"}, "a whole number"),
        ({"when_full": "drop"}, "raise, wait, shed, sample"),
        ({"wait": "soon"}, "wait: 'soon' is not a duration"),
        ({"wait": 0}, "above zero"),
        ({"one_in": 0}, "one_in=0"),
        ({"fair": 1}, "True or False"),
        ({"weights": {"a": 0}}, "above 0"),
        ({"weights": {"a/b": 1}}, "the first one counts"),
        ({"limit": 5}, "Limit"),
        ({"limit": Limit(1, name="x")}, "without a name"),
        ({"limit": Limit(1, key=len)}, "by"),
        ({"max_dept": 5}, "max_depth"),
    ],
)
def test_rules_of_queues_that_cannot_be(app, given, said):
    app.queue("mail", max_depth=5)
    for verb in (app.queue, app.set_queue):
        with pytest.raises(UsageError, match=said):
            verb("mail", **given)
    assert app.store.rules(["queue"]) == []


def test_a_producer_records_what_it_declares_before_its_first_enqueue(app):
    app.queue("mail", max_depth=2)
    app.enqueue("x", queue="other")
    assert app.store.rules(["queue"]) == []
    for _ in range(2):
        app.enqueue("x", queue="mail")
    (rule,) = app.store.rules(["queue"])
    assert rule.value == {"declared": {"max_depth": 2}}
    with pytest.raises(QueueFull, match="the queue mail is full: 2 jobs wait, 2 may"):
        app.enqueue("x", queue="mail")


def test_sampling_and_shedding_say_so(app):
    app.queue("mail", max_depth=1, when_full="shed", below=5)
    app.queue("logs", max_depth=1, when_full="sample", one_in=2)
    app.enqueue("x", queue="mail")
    with pytest.raises(QueueFull) as caught:
        app.enqueue("x", queue="mail", priority=4)
    assert caught.value.how == "shed"
    app.enqueue("x", queue="logs")
    found = []
    for _ in range(4):
        try:
            found.append(bool(app.enqueue("x", queue="logs").created))
        except QueueFull as error:
            found.append(error.how)
    assert sorted(map(str, found)) == ["True", "True", "sample", "sample"]


def test_queues_are_listed_with_what_they_have(app, mail):
    app.queue("post", max_depth=5, aging="1m", limit=Limit(running=4))
    app.enqueue("x", queue="post", delay="1h")
    app.pause(queue="post", reason="a move", actor="ada")
    app.set_queue("post", max_depth=7, actor="ada")
    (record,) = [each for each in app.queues() if each.name == "post"]
    assert (record.depth, record.counts) == (1, {"scheduled": 1})
    assert (record.paused[0].actor, record.paused[0].reason) == ("ada", "a move")
    assert record.declared == {"max_depth": 5, "aging": timedelta(minutes=1), "running": 4}
    assert (record.effective["max_depth"], record.drift) == (7, ("max_depth",))
    assert app.reset_queue("post", "max_depth").after == {}
    with pytest.raises(UsageError, match=r'no queue is called .pots. \(did you mean "post"\?\)'):
        app.set_queue("pots", max_depth=3)


# pauses ---------------------------------------------------------------------------------------------------------------
def test_a_pause_of_what_nobody_knows_changes_nothing(app, mail):
    with pytest.raises(UnknownType, match=r'no type is called .male. \(did you mean "mail"\?\)'):
        app.pause(type="male")
    with pytest.raises(UsageError, match=r'no queue is called .pots. \(did you mean "post"\?\)'):
        app.pause(queue="pots")
    with pytest.raises(UsageError, match="not both"):
        app.pause(type="mail", queue="post")
    assert (app.store.rules(["pause"]), app.actions()) == ([], [])


def test_a_type_that_only_jobs_name_can_be_paused(app):
    app.enqueue("far", queue="away")
    assert app.pause(type="far").changed
    assert app.pause(queue="away").changed


def test_a_dry_run_changes_nothing_and_tells_what_it_would_change(app, mail):
    work(app)
    made = [
        app.pause(type="mail", dry_run=True), app.disable("mail", dry_run=True), app.set_type("mail", priority=3, dry_run=True),
        app.set_queue("post", max_depth=5, dry_run=True), app.set_limit("api", rate="5/s", dry_run=True),
        app.set_limit("mail", running=3, dry_run=True), app.set_setting("a", 1, dry_run=True),
    ]  # fmt: skip
    assert all(change.changed for change in made)
    assert made[4].after == {"rate": "5/s"}
    assert app.store.rules(["pause", "type", "queue"]) == []
    assert (app.actions(), app.settings()) == ([], [])


def test_a_pause_and_its_end_are_on_record(app, mail):
    app.pause(type="mail", reason="outage", actor="ada")
    app.resume(type="mail", actor="bob")
    assert not app.resume(type="mail", actor="bob").changed
    end, start = app.actions()
    assert (start.actor, start.detail["name"], start.detail["reason"]) == ("ada", "type:mail", "outage")
    assert (end.actor, end.detail["after"]) == ("bob", None)


def test_a_disabled_type_refuses_jobs(app, mail):
    app.disable("mail", "broken", actor="ada")
    with pytest.raises(TypeDisabled, match="the type mail is disabled"):
        mail.enqueue()
    app.enable("mail")
    mail.enqueue()


# types and limits -----------------------------------------------------------------------------------------------------
def test_what_is_set_on_a_type_holds_and_can_be_reset(app, mail):
    app.queue("slow")
    work(app)
    with pytest.raises(UsageError, match='did you mean "slow"'):
        app.set_type("mail", queue="sloow")
    app.set_type("mail", priority=4, timeout="1h", keep=None, queue="slow", actor="ada")
    (record,) = app.types()
    assert (record.queue, record.effective["timeout"], record.effective["keep"]) == ("slow", timedelta(hours=1), None)
    assert record.drift == ("keep", "priority", "queue", "timeout")
    assert (record.set["priority"].actor, record.declared["priority"]) == ("ada", 0)
    job = app.get(mail.enqueue())
    assert (job.priority, job.timeout, job.keep, job.queue) == (4, timedelta(hours=1), None, "slow")
    assert app.reset_type("mail", "priority").after.keys() == {"timeout", "keep", "queue"}
    app.reset_type("mail")
    assert app.types()[0].drift == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"priority": 5_000}, "-1000 to 1000"),
        ({"attempts": 0}, "attempts"),
        ({"attempts": True}, "whole number"),
        ({"timeout": 0}, "above zero"),
        ({"tags": ["a"]}, "has no value 'tags'"),
        ({"limit": 5}, "Limit"),
        ({"limit": Limit(1, key=len)}, "stays in code"),
    ],
)
def test_what_cannot_be_set_on_a_type(app, mail, given, said):
    with pytest.raises(UsageError, match=said):
        app.set_type("mail", **given)
    assert app.store.rules(["type"]) == []


def test_a_limit_is_set_for_all_its_jobs_and_reset(app, mail):
    work(app)
    handles = [mail.options(tenant="a").enqueue() for _ in range(4)]
    assert [app.get(handle).state for handle in handles] == ["queued", "queued", "blocked", "blocked"]
    app.set_limit("mail/tenant", running=3, actor="ada")
    assert [app.get(handle).state for handle in handles] == ["queued"] * 3 + ["blocked"]
    (record,) = [each for each in app.limits() if each.name == "mail/tenant"]
    assert (record.types, record.declared, record.effective) == (("mail",), {"running": 2}, {"running": 3})
    assert [(slot.key, slot.holders, slot.waiting) for slot in record.slots] == [("a", 3, 1)]
    app.reset_limit("mail/tenant")
    assert [app.get(handle).state for handle in handles] == ["queued", "queued", "blocked", "blocked"]


def test_a_rate_beside_a_limit_that_code_declares(app, clock):
    app.job(name="x", limit=Limit(running=5))(lambda: None)
    work(app)
    app.set_limit("x", rate="1/m")
    first, second = app.enqueue("x"), app.enqueue("x")
    work(app)
    assert (app.get(first).state, app.get(second).state) == ("completed", "scheduled")
    (record,) = app.limits()
    assert record.slots[0].next_start == app.get(second).run_at
    assert app.why(second).reasons[0].kind == "rate"
    app.reset_limit("x")
    assert app.store.rules(["type"]) == []


def test_types_and_queues_without_a_limit_get_one(app):
    app.job(name="x")(lambda: None)
    work(app)
    app.set_limit("x", running=1, key="tenant")
    app.set_limit("queue:default", running=2)
    states = [app.get(app.enqueue("x", tenant=tenant)).state for tenant in "aabc"]
    assert states == ["queued", "blocked", "queued", "blocked"]
    assert {each.name: each.effective for each in app.limits()} == {
        "x/tenant": {"running": 1},
        "queue:default": {"running": 2},
    }
    app.set_limit("queue:default", running=9)
    assert [job.state for job in app.list()] == ["queued", "queued", "blocked", "queued"]
    app.reset_limit("x/tenant")
    app.reset_limit("queue:default")
    assert app.limits() == [] or all(not each.effective for each in app.limits())


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("api", {"running": 0}, "running=0"),
        ("api", {"rate": "ten/s"}, "rate='ten/s'"),
        ("api", {}, "needs running="),
        ("api", {"running": 1, "key": "tenant"}, "its key from code"),
        ("apy", {"running": 1}, 'did you mean "api"'),
        ("queue:pots", {"running": 1}, 'did you mean "post"'),
    ],
)
def test_limits_that_cannot_be_set(app, mail, name, given, said):
    work(app)
    before = app.store.rules(["limit", "type", "queue"])
    with pytest.raises(UsageError, match=said):
        app.set_limit(name, **given)
    assert app.store.rules(["limit", "type", "queue"]) == before


# breakers and settings ------------------------------------------------------------------------------------------------
def test_a_breaker_is_forced_and_the_job_tried_afterwards_decides(app, clock):
    app.job(name="x", breaker=Breaker())(lambda: None)
    work(app)
    app.open_breaker("x", rest="10m", reason="maintenance", actor="ada")
    handles = [app.enqueue("x") for _ in range(3)]
    assert work(app) == 0
    (record,) = app.breakers()
    assert (record.state, record.rest, record.actor) == ("open", timedelta(minutes=10), "ada")
    clock.advance("10m")
    assert app.breakers()[0].state == "probing"
    assert work(app) == 3
    assert app.breakers()[0].state == "closed"
    assert {app.get(handle).attempt for handle in handles} == {1}


def test_breakers_that_cannot_be_opened(app, mail):
    work(app)
    with pytest.raises(UsageError, match="declares no breaker"):
        app.open_breaker("mail")
    with pytest.raises(UsageError, match="above zero"):
        app.open_breaker("mail", rest=0)
    with pytest.raises(UnknownType, match="mail"):
        app.open_breaker("male")
    assert not app.close_breaker("mail").changed


def test_settings_are_json_with_a_description(app, clock):
    app.set_setting("poll", {"every": 5}, "How often to look.", actor="ada")
    clock.advance("1s")
    assert app.set_setting("poll", [1, None, "é"]).before == {"value": {"every": 5}}
    (record,) = app.settings()
    assert (record.name, record.value, record.description) == ("poll", [1, None, "é"], "How often to look.")
    assert record.updated_at.timestamp() * 1000 == clock.now()
    assert (app.setting("poll"), app.setting("other"), app.setting("other", 3)) == ([1, None, "é"], None, 3)
    app.unset_setting("poll", actor="bob")
    assert app.settings() == []
    assert [(line.actor, line.action) for line in app.actions()] == [
        ("bob", "setting"),
        ("python", "setting"),
        ("ada", "setting"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("move.mark", 1, "belong to mainstay"),
        ("released by w1", 1, "belong to mainstay"),
        ("", 1, "printable"),
        ("a", {1, 2}, "JSON value"),
        ("a", float("nan"), "JSON value"),
        ("a", "x" * 100_001, "100,000 characters"),
        ("a", "\0", "NUL"),
    ],
)
def test_settings_that_cannot_be(app, name, value, said):
    with pytest.raises(UsageError, match=said):
        app.set_setting(name, value)
    assert app.settings() == []


def test_a_setting_that_is_not_there(app):
    app.set_setting("poll", 1)
    app.store.set_setting("released by w1", "{}")
    with pytest.raises(NotFound, match='did you mean "poll"'):
        app.unset_setting("pol")
    assert [each.name for each in app.settings()] == ["poll"]


# why ------------------------------------------------------------------------------------------------------------------
def kinds(app, handle):
    return [reason.kind for reason in app.why(handle).reasons]


def live(app, queues, types, slots=9):
    now = app.clock.now()
    app.store.register(WorkerInfo("w", "here", 1, slots, queues, types, now, now, now + 60_000, 0, False))


def test_why_a_queued_job_waits(app):
    first, second = app.enqueue("x"), app.enqueue("x")
    assert kinds(app, first) == ["worker"]
    assert kinds(app, second) == ["worker", "behind"]
    live(app, ("other",), ("x",))
    assert "the queue default" in app.why(first).reasons[0].text
    live(app, ("default",), ("x",))
    assert kinds(app, first) == ["ready"]
    assert app.why(second).reasons[0].details == {"ahead": 1, "capped": False}
    app.pause(reason="a move", actor="ada")
    app.pause(type="x")
    assert kinds(app, first) == ["paused", "paused"]
    assert str(app.why(first)).startswith("the installation is paused since 2025-06-15T15:06:40.000Z by ada: a move\n")


def test_why_a_blocked_job_waits(app, mail):
    live(app, ("post", "default"), ("mail", "x"))
    held = [mail.options(tenant="a").enqueue() for _ in range(4)]
    first = app.why(held[3]).reasons[0]
    assert (first.kind, first.details["limit"], first.details["key"]) == ("limit", "mail/tenant", "a")
    assert first.details["holders"] == [held[0].id, held[1].id]
    assert kinds(app, held[3]) == ["limit", "behind"]
    child = app.enqueue("x", after=held[:2], start_by="1h")
    reason = app.why(child).reasons[0]
    assert (reason.kind, set(reason.details["parents"])) == ("parents", {held[0].id, held[1].id})
    assert kinds(app, child) == ["parents", "expires"]
    app.pause(type="mail")
    assert kinds(app, held[0]) == ["paused"]


def test_why_a_job_waits_for_its_time(app, clock):
    live(app, ("default",), ("x",))
    assert kinds(app, app.enqueue("x", delay="1h")) == ["scheduled"]

    @app.job(retry=2)
    def bad():
        raise ValueError("no such page")

    handle = bad.enqueue()
    work(app)
    reason = app.why(handle).reasons[0]
    assert (reason.kind, reason.details["error"]) == ("retrying", "ValueError: no such page")


def test_what_became_of_a_job(app):
    @app.job(retry=1, key="k")
    def bad():
        raise ValueError("no such page")

    dead = bad.enqueue()
    work(app)
    assert kinds(app, dead) == ["ended"]
    holder = bad.enqueue()
    assert app.why(dead).reasons[1].details == {"job": holder.id, "key": "k"}


# the context and the test kit -----------------------------------------------------------------------------------------
def test_rate_limited_needs_a_rate(app):
    @app.job
    def plain():
        ctx.rate_limited("30s")

    with pytest.raises(UsageError, match="the type plain has no rate"):
        Trial(plain).run()


def test_a_rate_limited_job_comes_back_and_others_wait_too(app, clock):
    told = []

    @app.job(limit=Limit(rate="100/s", burst=10))
    def call():
        if not told:
            told.append(1)
            ctx.rate_limited(retry_after="30s")

    one, two = call.enqueue(), call.enqueue()
    work(app)
    now = datetime.fromtimestamp(clock.now() / 1000, UTC)
    assert app.get(one).run_at == now + timedelta(seconds=30)
    assert (app.get(one).attempt, app.get(one).reason) == (0, "rate limited")
    assert app.get(two).state == "scheduled"
    clock.advance("31s")
    work(app)
    assert {app.get(one).state, app.get(two).state} == {"completed"}


def test_the_kit_jumps_to_what_a_rate_permits(app):
    @app.job(limit=Limit(running=1, rate="1/m"))
    def call(n: int):
        pass

    @app.job
    def last():
        pass

    with app.testing() as kit:
        handles = [call.enqueue(n) for n in range(3)]
        end = last.options(after=handles).enqueue()
        assert kit.drain().completed == 4
        assert app.get(end).started_at - app.get(handles[0]).started_at >= timedelta(minutes=2)
        late = last.options(start_by="1s").enqueue()
        kit.advance("2s")
        kit.drain()
        assert app.get(late).state == "cancelled"


def test_a_full_queue_does_not_wait_in_a_test(app):
    app.queue("mail", max_depth=1, when_full="wait", wait="1h")
    with app.testing():
        app.enqueue("x", queue="mail")
        with pytest.raises(QueueFull):
            app.enqueue("x", queue="mail")


def test_a_rerun_has_the_limits_of_the_first(app, mail):
    handle = mail.options(tenant="a", start_by="1h").enqueue()
    work(app)
    again = app.get(app.copy(handle))
    assert json.loads(again.rules).keys() == {"limits", "rates"}
