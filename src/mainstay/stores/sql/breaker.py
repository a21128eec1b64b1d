"""Breakers in the SQL stores: outcomes are counted when jobs finish; a rule of kind `breaker` exists while one is open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...core.breaker import breaker_meter, outcomes_of, record
from ...core.job import Rule
from ..operations import together
from .rates import METER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.breaker import Outcomes
    from ...core.decide import Transition
    from ..operations import Operations, Statement
    from .dialect import Dialect


def rule_of(row: Sequence[object]) -> Rule:
    """Return the rule in a row of its columns."""
    found = Rule(*row)  # type: ignore[arg-type]
    return found._replace(value=json.loads(found.value))  # type: ignore[arg-type]


def put_rule(dialect: Dialect, rule: Rule) -> Statement:
    """Return the statement that stores a rule."""
    return dialect.statement("rule_put", **rule._asdict() | {"value": json.dumps(rule.value, sort_keys=True)})


def free_breakers(dialect: Dialect, names: list[str]) -> Operations[set[str]]:
    """Lock open breakers; return those that no other transaction has locked."""
    return {name for (name,) in (yield dialect.statement("breakers_free", names=names)).rows}


def count_outcomes(
    dialect: Dialect, transitions: Sequence[Transition], now: int, joined: bool = False
) -> Operations[None]:
    """Count outcomes of types with a breaker; open or close it.

    In a caller's transaction (`joined`) only an open breaker is closed: to count would lock the meter until the commit. Nobody waits for
    a breaker that such a transaction has locked: it closes or stays open as that says, and the outcomes count for what comes then.
    """
    watched = [t for t in transitions if t.rules and '"breaker"' in t.rules]
    if not watched:
        return
    rows = (yield dialect.statement("types_of", seqs=sorted({t.seq for t in watched}))).rows
    counted = outcomes_of(watched, dict(rows))
    found = yield from together(
        dialect.statement("rules_named", kind="breaker", names=sorted(counted)),
        dialect.statement("meters", names=[breaker_meter(name) for name in sorted(counted)]),
    )
    rules = {rule.name: rule for rule in map(rule_of, found[0].rows)}
    meters = dict(found[1].rows)
    free = (yield from free_breakers(dialect, sorted(rules))) if rules else set()
    statements: list[Statement] = []
    for name, outcomes in counted.items():
        if name in rules and name not in free:
            meters[breaker_meter(name)], _ = record(meters.get(breaker_meter(name)), outcomes, may_open=False)
        elif not joined or name in rules:
            statements += _counted(dialect, name, outcomes, rules.get(name), meters, now)
    kept = [] if joined else list(meters.items())
    yield from together(*statements, *dialect.upsert("meter", METER, kept))


def _counted(
    dialect: Dialect, name: str, outcomes: Outcomes, rule: Rule | None, meters: dict[str, int], now: int
) -> list[Statement]:  # fmt: skip
    meter, rest = breaker_meter(name), int(outcomes.spec[2])
    if rule is None:
        meters[meter], opens = record(meters.get(meter), outcomes)
        return (
            [put_rule(dialect, Rule("breaker", name, {"until": now + rest, "rest": rest}, "", now, "jobs failed"))]
            if opens
            else []
        )
    meters[meter] = 1
    if rule.value.get("forced"):
        return []
    if not all(outcomes.failed):
        return [dialect.statement("rule_remove", kind="breaker", name=name)]
    return [put_rule(dialect, rule._replace(value={"until": now + rest, "rest": rest}))]
