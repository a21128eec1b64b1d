"""The usual moves of a test that moves an installation."""

from mainstay.core import states
from mainstay.core.clock import HOUR
from mainstay.core.export import PARTS, DeliveryRecord
from mainstay.core.job import Rule, TypeInfo
from mainstay.core.keys import FOREVER
from mainstay.stores.move import digest, move
from tests.contract.building import FAILED, REVIEW, WORKER, Desk, checkpoint, draft, keyed, log, progress, transition
from tests.contract.ruled import after, limited, send

SMALL = 3  # rows a batch, so that every part needs several


def silent(*_):
    """No progress bar."""


def furnish(desk):
    """Jobs in every state, with everything that a job can have."""
    desk.store.register_types([TypeInfo("work", "default", "work(n: int)", {"max_attempts": 7}, desk.now)])
    desk.store.set_setting("colour", "blü \N{SNOWMAN}")
    made = {state: desk.bring(state, priority=n) for n, state in enumerate(states.STATES)}
    rich = draft(
        payload='{"n":"é\\u0000"}', tags=("eu", "a b"), tenant="acme", ref="doc:7", parent=made["dead"], priority=99
    )
    desk.store.enqueue(
        [
            rich,
            keyed("forever", priority=98),
            keyed("hour", desk.now + HOUR),
            keyed("start", 0),
            keyed("ever", FOREVER),
        ],
        desk.now,
    )
    job = desk.take_this(rich.id)
    desk.store.finish(
        [], [log(job, n, f"line {n}") for n in range(5)] + [log(job, 9, "with fields")._replace(fields='{"a":1}')]
    )
    desk.store.finish([], [progress(job, 1.5, None, "read"), checkpoint(job, '{"page":3}')])
    desk.store.finish([transition(job, FAILED, desk.now)])
    desk.end(desk.run(priority=100), REVIEW._replace(children=(draft("child", tags=("x",), parent=job.id),)))
    desk.store.cancel([desk.add(), made["scheduled"]], desk.now, "someone")
    for n, error in enumerate((None, "no reply", None, "no reply")):
        desk.store.record_delivery(DeliveryRecord(f"hook{n % 2}", 0, f"j{n}", n, 1, None, n, error, "é"), desk.now + n)
    desk.store.set_rule(Rule("pause", "type:nobody", {}, "someone", desk.now, "why"))
    send(desk, limited(type="held"), limited(type="held"), after(made["running"], type="child"))
    desk.store.deregister(WORKER)
    return rich.id


def digests(store):
    return {part: digest(store, part, silent) for part in PARTS}


def arrive(elsewhere, store, **given):
    """Move everything here; a worker of this store answers for it."""
    if elsewhere.store.workers():
        elsewhere.store.deregister(WORKER)
    before = digests(elsewhere.store)
    move(elsewhere.store, store, silent, **given)
    assert digests(store) == before
    return Desk(store, elsewhere.clock)


def move_on(store, target):
    """The next store, after a further move."""
    move(store, target, silent, batch=SMALL)
    return target


def broken_off(count):
    """A report that fails in the middle of copying."""
    left = [count]

    def report(doing, *_):
        if doing == "copying":
            left[0] -= 1
            assert left[0] or 1 / 0

    return report
