"""Known-bad variants of flow control: mistakes in what holds jobs back, each seen under the hardship that it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainstay.core import schedule as core_schedule
from mainstay.core.admission import Known
from mainstay.core.schedule import Fired
from mainstay.core.states import COMPLETED
from mainstay.stores.operations import Statement
from mainstay.stores.sql import admission, enqueue as ruled_enqueue, rules, schedules
from mainstay.stores.sqlite import claim
from mainstay.stores.sqlite.lines import Lines
from mainstay.upkeep.admit import Admit
from mainstay.worker.slots import Slots
from tests.simulation.patches import patched, statements, variant

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

NO_ADMIT = (Admit, "step", lambda chore, now: 1_000)


# limits ---------------------------------------------------------------------------------------------------------------
@variant("I28", only="limits")
def holds_not_given_back() -> AbstractContextManager[object]:
    """A job that ends keeps its slots."""

    def nothing(dialect: Any, jobs: Any) -> Any:
        return set()
        yield

    return patched((admission, "give_back", nothing))


@variant("I27", only="limits")
def only_running_jobs_counted() -> AbstractContextManager[object]:
    """A slot counts the jobs that run, and not those that are about to."""
    real = admission._known
    running = "SELECT h.slot, count(*) FROM mainstay_hold h JOIN mainstay_job j ON j.seq = h.job WHERE j.state = 'running' GROUP BY 1"

    def known(*given: Any) -> Any:
        found = yield from real(*given)
        rows = (yield Statement(running)).rows
        found.held = dict.fromkeys(found.held, 0) | dict(rows)
        return found

    return patched((admission, "_known", known))


@variant("I27", only="limits")
def second_limit_ignored() -> AbstractContextManager[object]:
    """Of several limits, only the first is looked at."""
    real = Known._full_limit
    return patched((Known, "_full_limit", lambda known, job, slots: real(known, job, slots[:1])))


@variant("I28", only="limits")
def displaced_holder_keeps_its_hold() -> AbstractContextManager[object]:
    """A holder that gives way to a higher priority is blocked, and holds its slots all the same."""
    real = Known._displace

    def keeping(known: Any, holder: Any, slot: str) -> None:
        real(known, holder, slot)
        del known.displaced[holder.seq]

    return patched((Known, "_displace", keeping))


@variant("I28", only="limits")
def children_not_examined() -> AbstractContextManager[object]:
    """The children of a job are queued at once, whatever their limits."""

    def at_once(drafts: Any) -> None:
        for draft in drafts:
            draft.waits = None

    return patched((ruled_enqueue, "defer", at_once))


@variant("I1", "I29", only="limits")
def wakeup_lost() -> AbstractContextManager[object]:
    """Nobody examines the line of a slot that was given back."""
    return patched((claim, "_examine", lambda connection, now, *freed: 0), NO_ADMIT)


# rates, breakers, deadlines -------------------------------------------------------------------------------------------
@variant("I30", only="rates")
def rate_not_charged() -> AbstractContextManager[object]:
    """A claim does not charge rates: jobs of one rate that are queued start at once."""
    return patched((admission, "_charged", lambda carried, limits, meters, now: now))


@variant("I30", only="rates")
def second_rate_not_charged() -> AbstractContextManager[object]:
    """Of several rates, only the first is charged."""
    real = admission._charged

    def first(carried: Any, *given: Any) -> int:
        return real({**carried, "rates": carried.get("rates", [])[:1]}, *given)

    return patched((admission, "_charged", first))


@variant("I33", only="breakers")
def open_breaker_ignored() -> AbstractContextManager[object]:
    """Claims take jobs of a type that rests."""
    return statements(claim_closed=("kind < 'queue' AND kind <> 'limit'", "kind = 'pause'"))


@variant("I33", only="deadlines")
def late_start_not_checked() -> AbstractContextManager[object]:
    """A worker runs a job although it waited for a slot beyond the time by which it had to start."""
    return patched((Slots, "_too_late", lambda slots, job: None))


@variant("I31", only="parents")
def any_parent_will_do() -> AbstractContextManager[object]:
    """A child is released as soon as one of its parents has completed."""
    real = Known._parents

    def one(known: Any, job: Any, carried: Any) -> Any:
        done = any(state == COMPLETED for _, state in known.parents.get(job.seq, ()))
        return None if done else real(known, job, carried)

    return patched((Known, "_parents", one))


@variant("I31", only="parents")
def parents_only_need_to_end() -> AbstractContextManager[object]:
    """A child starts once its parents have ended, however they did."""
    real = Known._parents
    return patched((Known, "_parents", lambda known, job, carried: real(known, job, {**carried, "after": "run"})))


@variant("I32", only="pauses")
def pause_ignored() -> AbstractContextManager[object]:
    """Claims take jobs of what is paused: only jobs with rules are held back."""
    return statements(claim_closed=("kind < 'queue' AND kind <> 'limit'", "kind = 'breaker'"))


@variant("I1", "I34", only="limits+pauses")
def resumed_without_a_look() -> AbstractContextManager[object]:
    """What waits for the end of a pause is not examined when it ends."""
    real = rules.react

    def deaf(store: Any, rule: Any, removed: bool = False) -> None:
        if not removed:
            real(store, rule, removed)

    return patched((rules, "react", deaf), NO_ADMIT)


@variant("I29", only="limits")
def kept_slots_forgotten() -> AbstractContextManager[object]:
    """A full claim leaves lines for later, and nobody looks at them then."""
    return patched((Lines, "keep", lambda lines, slots: None), NO_ADMIT)


# schedules ------------------------------------------------------------------------------------------------------------
@variant("I11", only="schedules")
def fired_without_a_look() -> AbstractContextManager[object]:
    """A tick is fired whatever has become of its schedule since it was read."""
    return patched((schedules, "_verdict", lambda firing, value, state, now: Fired("fired", value, state)))


@variant("I11", only="schedules")
def ticks_of_an_absence_forgotten() -> AbstractContextManager[object]:
    """A schedule that shall catch up fires the newest tick only."""
    real = core_schedule._due
    return patched((core_schedule, "_due", lambda spec, *given: real({**spec, "catch_up": "latest"}, *given)))


@variant("I11", only="schedules")
def tick_passed_over() -> AbstractContextManager[object]:
    """The next tick is looked for a second after the last one: that of the second in between is passed over."""

    def moved(spec: Any, state: Any, after: int) -> Any:
        return real(spec, state, after + 1_000)

    real = core_schedule._moved
    return patched((core_schedule, "_moved", moved))
