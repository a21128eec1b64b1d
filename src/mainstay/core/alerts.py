"""Rules for alerts, and what becomes of an incident: opened once, told once, recovered once (docs/decisions/0038)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .clock import DAY, MINUTE, human, milliseconds
from .errors import UsageError
from .job import Rule
from .limits import effective
from .rules import TROUBLE, WEBHOOK
from .suggest import did_you_mean
from .webhooks import GONE, MANY, TYPE as WEBHOOK_TYPE, why
from .words import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .dead import Group
    from .job import Count, Job

SEVERITIES = ("warning", "error", "high")
OPENED, RECOVERED, TEST = "opened", "recovered", "test"
KEPT = 20  # earlier times at which the same incident was open; notices that are still to be told
FORGET = 7 * DAY  # after which a closed incident is removed
OFTEN, CALM = 3, 15 * MINUTE  # an incident that was open so often in a day before is over when it stays away so long
STALE = DAY  # after which a notice that nobody could deliver is given up
SHORTEST = 30_000  # ms that a job runs before anybody looks whether it runs too long


class Spec(NamedTuple):
    """A rule as it comes: its severity, its threshold (None: it has none), and what it says."""

    severity: str
    threshold: Any
    about: str  # when it fires
    least: int | None = None  # jobs that must have ended before a rate counts


RULES: dict[str, Spec] = {
    "depth": Spec("warning", 100, "more than {} jobs wait in a queue"),
    "oldest": Spec("warning", "1h", "a job has been waiting in a queue for more than {}"),
    "failures": Spec("warning", 0.1, "of at least {least} jobs that ended in the last hour, more than {} are dead", least=20),
    "running": Spec("warning", "5m", "a job has been running for more than {}, or past its timeout"),
    "dead": Spec("error", None, "a job is dead, of any type that is not critical"),
    "critical": Spec("high", ("data-deletion", "webhook_dispatch", "webhook-dispatch", "audit-export"), "a job of a critical type is dead: {}"),
    "silent": Spec("error", None, "a worker has died with jobs, or does not renew its lease"),
    "disabled": Spec("warning", None, "the installation is paused, or a type takes no jobs"),
    "breaker": Spec("warning", None, "the breaker of a type is open"),
    "webhook": Spec("error", None, "a webhook is disabled because its deliveries failed"),
}  # fmt: skip


class Alert(NamedTuple):
    """What is wrong: which rule says so about what, how bad it is, and which type, job, queue and tenant it concerns."""

    rule: str
    subject: str
    severity: str
    title: str
    text: str
    type: str | None = None
    job: str | None = None
    queue: str | None = None
    tenant: str | None = None

    @property
    def name(self) -> str:
        """The name of its incident: there is one at a time for a rule and a subject."""
        return f"{self.rule}:{self.subject}"


class Facts(NamedTuple):
    """What the rules look at."""

    now: int
    counts: Sequence[Count]
    dead: Sequence[Group]  # that are open
    ended: Mapping[str, int]  # how many jobs completed and died in the last hour
    running: Sequence[Job]  # that have been running for a while
    silent: Mapping[str, str]  # dead workers by id, and what is known of them
    rules: Sequence[Rule]  # pauses, types, breakers, webhooks


# rules ------------------------------------------------------------------------------------------------------------------
class Held(NamedTuple):
    """A rule as it holds now: what operators have set over what comes with mainstay."""

    name: str
    severity: str
    threshold: Any
    least: int | None
    enabled: bool
    silenced: int | None  # until this instant nobody is told

    @property
    def about(self) -> str:
        """When it fires, in words."""
        value, usual = self.threshold, RULES[self.name].threshold
        if isinstance(usual, float):
            value = f"{value:.0%}"
        elif isinstance(usual, tuple):
            value = ", ".join(value)
        elif isinstance(usual, str) and not isinstance(value, str):
            value = human(milliseconds(value))
        return RULES[self.name].about.format(value, least=self.least)

    def quiet(self, now: int) -> bool:
        """Whether nobody is told of its incidents now."""
        return self.silenced is not None and now < self.silenced


def held(stored: Mapping[str, Any]) -> dict[str, Held]:
    """Return the rules as they hold, by name; `stored` has what operators have set of each."""
    return {name: _held(name, spec, stored.get(name, {})) for name, spec in RULES.items()}


def _held(name: str, spec: Spec, given: Mapping[str, Any]) -> Held:
    threshold, least = given.get("threshold", spec.threshold), given.get("least", spec.least)
    return Held(
        name, given.get("severity", spec.severity), threshold, least, given.get("enabled", True), given.get("silenced")
    )


def check_rule(name: str) -> None:
    """Raise for a rule that there is not."""
    if name not in RULES:
        raise UsageError(f"no alert is called {name!r}{did_you_mean(name, RULES)}; there are: {', '.join(RULES)}")


def checked(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that an operator sets of a rule as they are stored; raise for one that does not fit."""
    check_rule(name)
    return {each: _checked(name, each, value) for each, value in values.items()}


def _checked(rule: str, name: str, value: Any) -> Any:
    known = [name for name, fits in _CHECKS.items() if fits(RULES[rule])]
    if name not in known:
        raise UsageError(f"the alert {rule} has no {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}")
    if name == "severity":
        return value if value in SEVERITIES else _refused(rule, name, value, f"one of {', '.join(SEVERITIES)}")
    if name == "enabled":
        return value if isinstance(value, bool) else _refused(rule, name, value, "true or false")
    if name == "least":
        return value if _whole(value) else _refused(rule, name, value, "a whole number from 0 on")
    return _threshold(rule, value)


_CHECKS: dict[str, Callable[[Spec], bool]] = {
    "threshold": lambda spec: spec.threshold is not None,
    "severity": lambda _: True,
    "enabled": lambda _: True,
    "least": lambda spec: spec.least is not None,
}


def _threshold(rule: str, value: Any) -> Any:
    usual = RULES[rule].threshold
    if isinstance(usual, str):
        try:
            return value if milliseconds(value) > 0 else _refused(rule, "threshold", value, "a duration above zero")
        except (ValueError, TypeError):
            return _refused(rule, "threshold", value, 'a duration such as "90s"')
    if isinstance(usual, tuple):
        names = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
        fits = isinstance(names, (list, tuple)) and all(isinstance(each, str) and each for each in names)
        return list(names) if fits else _refused(rule, "threshold", value, "types: data-deletion,audit-export")
    if isinstance(usual, float):
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1
        return value if fits else _refused(rule, "threshold", value, "a part such as 0.1, for 10 %")
    return value if _whole(value) else _refused(rule, "threshold", value, "a whole number from 0 on")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _refused(rule: str, name: str, value: Any, wanted: str) -> Any:
    raise UsageError(f"{rule}: {name}={value!r:.60}: give {wanted}")


# what is wrong ------------------------------------------------------------------------------------------------------------
def found(facts: Facts, rules: Mapping[str, Held]) -> list[Alert]:
    """Return what is wrong by the rules that are enabled."""
    return [
        alert for name, rule in rules.items() if rule.enabled for alert in _LOOKS[name](facts, rule, rules)
    ]  # fmt: skip


def _depth(facts: Facts, rule: Held, _: Mapping[str, Held]) -> Iterator[Alert]:
    for queue, counts in _by_queue(facts, ("queued", "blocked")).items():
        number, more = sum(count.jobs for count in counts), "+" * any(count.capped for count in counts)
        if number > rule.threshold:
            text = f"{number:,}{more} jobs wait in the queue {queue}; {rule.threshold:,} is usual"
            yield Alert(rule.name, queue, rule.severity, f"{number:,}{more} jobs wait in {queue}", text, queue=queue)


def _oldest(facts: Facts, rule: Held, _: Mapping[str, Held]) -> Iterator[Alert]:
    for queue, counts in _by_queue(facts, ("queued",)).items():
        count = min(
            (count for count in counts if count.oldest is not None), key=lambda each: each.oldest or 0, default=None
        )
        waited = facts.now - (facts.now if count is None or count.oldest is None else count.oldest)
        if count is not None and waited > milliseconds(rule.threshold):
            text = f"a job of {count.type} has been waiting in the queue {queue} for {human(waited)}"
            yield Alert(
                rule.name, queue, rule.severity, f"Jobs wait too long in {queue}", text, count.type, queue=queue
            )


def _by_queue(facts: Facts, labels: Sequence[str]) -> dict[str, list[Count]]:
    made: dict[str, list[Count]] = {}
    for count in facts.counts:
        if count.label in labels:
            made.setdefault(count.queue, []).append(count)
    return made


def _failures(facts: Facts, rule: Held, _: Mapping[str, Held]) -> Iterator[Alert]:
    dead = facts.ended.get("dead", 0)
    ended = dead + facts.ended.get("completed", 0)
    if ended >= max(rule.least or 0, 1) and dead / ended > rule.threshold:
        text = f"{dead:,} of {plural(ended, 'job')} that ended in the last hour failed for good ({dead / ended:.0%})"
        yield Alert(rule.name, "", rule.severity, f"{dead / ended:.0%} of jobs fail", text)


def _running(facts: Facts, rule: Held, _: Mapping[str, Held]) -> Iterator[Alert]:
    longest: dict[str, Job] = {}
    for job in facts.running:
        if _too_long(job, facts.now, milliseconds(rule.threshold)):
            longest[job.type] = min(job, longest.get(job.type, job), key=lambda each: each.started_at or 0)
    for type, job in longest.items():
        took, late = (
            facts.now - (job.started_at or 0),
            job.timeout is not None and facts.now - (job.started_at or 0) > job.timeout,
        )
        text = f"{type} {job.id} has been running for {human(took)}" + (", past its timeout" if late else "")
        yield _about(job, Alert(rule.name, type, rule.severity, f"{type} runs for too long", text))


def _too_long(job: Job, now: int, most: int) -> bool:
    took = now - (now if job.started_at is None else job.started_at)
    return took > most or (job.timeout is not None and took > job.timeout)


def _dead(facts: Facts, rule: Held, rules: Mapping[str, Held]) -> Iterator[Alert]:
    critical = rules["critical"].threshold if rules["critical"].enabled else ()
    by_type: dict[str, list[Group]] = {}
    for group in facts.dead:
        if (group.type in critical) == (rule.name == "critical"):
            by_type.setdefault(group.type, []).append(group)
    for type, groups in by_type.items():
        newest = max(groups, key=lambda group: group.last)
        text = f"{plural(sum(group.jobs for group in groups), 'job')} of {type} failed for good"
        yield Alert(rule.name, type, rule.severity, f"{type} failed for good", text, type, newest.sample)


def _silent(facts: Facts, rule: Held, _: Mapping[str, Held]) -> Iterator[Alert]:
    for worker, known in facts.silent.items():
        yield Alert(rule.name, worker, rule.severity, "A worker is silent", f"the worker {worker} {known}")


def _disabled(facts: Facts, rule: Held, _: Mapping[str, Held]) -> Iterator[Alert]:
    for each in facts.rules:
        by = f" by {each.actor}" if each.actor else ""
        if (each.kind, each.name) == ("pause", "all"):
            why = f": {each.reason}" if each.reason else ""
            yield Alert(rule.name, "", rule.severity, "Everything is paused", f"no job starts: it is paused{by}{why}")
        elif each.kind == "type" and effective(each.value).get("disabled"):
            text = f"the type {each.name} takes no jobs: it is disabled"
            yield Alert(rule.name, each.name, rule.severity, f"{each.name} is disabled", text, each.name)


def _breaker(facts: Facts, rule: Held, _: Mapping[str, Held]) -> Iterator[Alert]:
    for each in facts.rules:
        if each.kind == "breaker":
            text = f"no job of {each.name} starts: its breaker is open" + (f" ({each.reason})" if each.reason else "")
            yield Alert(rule.name, each.name, rule.severity, f"The breaker of {each.name} is open", text, each.name)


def _webhook(facts: Facts, rule: Held, _: Mapping[str, Held]) -> Iterator[Alert]:
    for each in facts.rules:
        if each.kind == WEBHOOK and each.value["set"].get("disabled_because") in (MANY, GONE):
            text = f"{why(each.value['set'])}; when the receiver is well again: mainstay webhooks enable {each.name}"
            yield Alert(rule.name, each.name, rule.severity, f"The webhook {each.name} is disabled", text, WEBHOOK_TYPE)


_LOOKS: dict[str, Callable[[Facts, Held, Mapping[str, Held]], Iterator[Alert]]] = {
    "depth": _depth, "oldest": _oldest, "failures": _failures, "running": _running, "dead": _dead, "critical": _dead,
    "silent": _silent, "disabled": _disabled, "breaker": _breaker, "webhook": _webhook,
}  # fmt: skip


def _about(job: Job, alert: Alert) -> Alert:
    return alert._replace(type=job.type, job=job.id, queue=job.queue, tenant=job.tenant)


def about(alert: Alert, job: Job) -> Alert:
    """Return an alert of a dead job that names the job and its tenant. It is stored, so the error is not in it: that may be encrypted."""
    tried = f" after {plural(job.attempt, 'attempt')}" if job.attempt else ""
    return _about(job, alert._replace(text=f"{alert.text}; the last is {job.id}{tried}"))


# incidents: the value of a rule of kind `trouble` -------------------------------------------------------------------------
def opened(alert: Alert, before: Mapping[str, Any] | None, now: int, id: str, quiet: bool) -> dict[str, Any]:
    """Return an incident that begins. What is still to be told of the one before is not lost."""
    past = (before or {}).get("past", [])
    if before is not None:
        past = [[before["opened_at"], before["closed_at"]], *past][:KEPT]
    value = {
        "id": id, "alert": list(alert), "opened_at": now, "closed_at": None, "past": past,
        "owed": (before or {}).get("owed", []), "told": False,
    }  # fmt: skip
    return value if quiet else owing(value, OPENED, now)


def owing(value: Mapping[str, Any], what: str, now: int) -> dict[str, Any]:
    """Return an incident of which something is to be told. The id of the notice is the same however often it is sent."""
    notice = {
        "id": f"{value['id']}.{what}",
        "what": what,
        "at": now,
        "alert": value["alert"],
        "opened_at": value["opened_at"],
    }
    return {**value, "owed": [*pending(value, now), notice][-KEPT:], "told": True}


def pending(value: Mapping[str, Any], now: int) -> list[dict[str, Any]]:
    """Return the notices of an incident that are still to be told. One of which nobody was told for a day is over, unless the incident is open."""
    new = None if value["closed_at"] is not None else f"{value['id']}.{OPENED}"
    return [each for each in value["owed"] if each.get("tries") or now - each["at"] < STALE or each["id"] == new]


def closed(value: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return an incident that is over; whoever was told that it began is told that it is over."""
    over = {**value, "closed_at": now}
    return owing(over, RECOVERED, now) if value["told"] else over


def unsettled(value: Mapping[str, Any], now: int) -> bool:
    """Whether an incident of which nothing is seen now counts as open still: it comes and goes, and has not stayed away for long."""
    often = sum(abs(now - since) < DAY for since, _ in value["past"]) >= OFTEN
    since = value.get("away_since")
    return often and (since is None or abs(now - since) < CALM)


def forgotten(value: Mapping[str, Any], now: int) -> bool:
    """Whether an incident that is over has been so for a week. A clock that was set back by a little forgets none."""
    return bool(abs(now - value["closed_at"]) >= FORGET)


def checked_at(value: Mapping[str, Any] | None, now: int) -> bool:
    """Whether some process has looked at all rules within the last minute."""
    return value is not None and 0 <= now - value["at"] < MINUTE - 5_000


def incident(name: str, value: dict[str, Any], now: int) -> Rule:
    """Return an incident as it is stored."""
    return Rule(TROUBLE, name, value, "", now)
