"""The audit of a soak, from its journals: every accepted job has run as often as its kind does, and no attempt twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from tests.soak.kinds import NEVER_END, RUNS

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = 10


def audit(lines: Iterable[dict[str, Any]]) -> list[str]:
    """Return what is wrong: jobs lost, run too often, or with two attempts at once."""
    kinds: dict[str, str] = {}
    starts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    open_attempts: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for line in lines:
        if line["op"] == "accepted":
            kinds |= dict.fromkeys(line["items"], line["kind"])
        elif line["op"] == "asked":
            kinds |= dict.fromkeys(line["items"], "child")
        elif line["op"] == "start":
            _start(line, starts[line["item"]], open_attempts, problems)
        elif line["op"] == "alive" and line["token"] != open_attempts[line["item"]]["token"]:
            problems.append(f"{line['item']}: attempt {line['token']} still runs beside the next")
        elif line["op"] == "end":
            open_attempts.pop(line["item"], None)
    return problems + _counted(kinds, starts)


def _start(
    line: dict[str, Any], before: list[dict[str, Any]], running: dict[str, dict[str, Any]], problems: list[str]
) -> None:
    item = line["item"]
    if any((other["job"], other["token"]) == (line["job"], line["token"]) for other in before):
        problems.append(f"{item}: token {line['token']} was run twice")
    if item in running and line.get("kind") not in NEVER_END:  # of those, nobody writes down the end
        problems.append(f"{item}: attempt {line['token']} begins while {running[item]['token']} runs")
    before.append(line)
    running[item] = line


def _counted(kinds: dict[str, str], starts: dict[str, list[dict[str, Any]]]) -> list[str]:
    wrong = Counter[str]()
    examples: dict[str, str] = {}
    for item, kind in kinds.items():
        count = len(starts.get(item, ()))
        if count != RUNS[kind]:
            what = f"{kind}: ran {count} times instead of {RUNS[kind]}" if count else f"{kind}: lost, it never ran"
            wrong[what] += 1
            examples.setdefault(what, item)
    unasked = starts.keys() - kinds.keys()
    found = [f"{what}: {count} jobs, e.g. {examples[what]}" for what, count in wrong.items()]
    return found + [f"{item}: was run, but never accepted" for item in sorted(unasked)[:SHOWN]]
