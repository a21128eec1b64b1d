"""Circuit breakers: when a type rests because its jobs fail, and which lanes a claim leaves out for that or for a pause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .outcome import DEATHS
from .rules import ALL, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .decide import Transition
    from .job import Rule

FAILURES = {"failed", "timed out", *DEATHS}


def breaker_meter(type: str) -> str:
    """Return the meter with the last outcomes of a type: a 1, then a bit for each, 1 for a failure."""
    return f"breaker\n{type}"


class Outcomes(NamedTuple):
    """The outcomes of jobs of one type whose breaker is `spec`: (failures, of, rest)."""

    spec: Sequence[float]
    failed: list[bool]


def outcomes_of(transitions: Iterable[Transition], types: Mapping[int | str, str]) -> dict[str, Outcomes]:
    """Return the outcomes that breakers count, by type. `types` has the type of each job by its number."""
    found: dict[str, Outcomes] = {}
    for t in transitions:
        spec = unpack(t.rules).get("breaker")
        failed = t.outcome in FAILURES
        if spec and (failed or t.outcome == "completed"):
            found.setdefault(types[t.seq], Outcomes(spec, [])).failed.append(failed)
    return found


def record(window: int | None, outcomes: Outcomes, may_open: bool = True) -> tuple[int, bool]:
    """Return the window after these outcomes, and whether the breaker opens; it starts anew then.

    One that may not open now does so with the next outcome that says so.
    """
    part, of, _ = outcomes.spec
    bits = window or 1
    for failed in outcomes.failed:
        bits = bits << 1 | failed
        if bits.bit_length() > of + 1:
            bits = bits & (1 << int(of)) - 1 | 1 << int(of)
        if may_open and bits.bit_length() == of + 1 and bits.bit_count() - 1 >= part * of:
            return 1, True
    return bits, False


class Lanes(NamedTuple):
    """What a claim may take: the lanes that are open, and those of which one job may be tried, each with its rule."""

    wants: Mapping[str, Sequence[str]]
    probes: list[tuple[Rule, dict[str, list[str]]]]


def open_lanes(wants: Mapping[str, Sequence[str]], closed: Iterable[Rule], now: int) -> Lanes:
    """Return the lanes without those that are paused or whose breaker is open."""
    closed = list(closed)
    paused = {rule.name for rule in closed if rule.kind == "pause"}
    if ALL in paused:
        return Lanes({}, [])
    queues = {queue: types for queue, types in wants.items() if f"queue:{queue}" not in paused}
    breakers = {rule.name: rule for rule in closed if rule.kind == "breaker" and f"type:{rule.name}" not in paused}
    out = {name.removeprefix("type:") for name in paused if name.startswith("type:")} | breakers.keys()
    probes = []
    for name, rule in breakers.items():
        lanes = {queue: [name] for queue, types in queues.items() if name in types}
        if lanes and rule.value.get("until", 0) <= now:
            probes.append((rule, lanes))
    left: dict[str, Any] = {queue: [type for type in types if type not in out] for queue, types in queues.items()}
    return Lanes({queue: types for queue, types in left.items() if types}, probes)


def probed(rule: Rule, now: int) -> Rule:
    """Return an open breaker's rule after a job was taken to try: no other is until the rest is over again.

    One that an operator has opened is open like others from now on: the outcome decides.
    """
    rest = int(rule.value.get("rest", 30_000))
    return rule._replace(value={"until": now + rest, "rest": rest})
