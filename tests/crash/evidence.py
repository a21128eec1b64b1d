"""What the processes wrote down and what the engine kept account of, as one history for the checker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainstay.core.outcome import INTERRUPTED
from mainstay.core.verdict import LOST, STORED
from tests.simulation.history import History, Record, merge

from .journal import GIVEN_UP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mainstay.core.job import Job

    Line = dict[str, Any]


def history(lines: Iterable[Line], account: list[Record], jobs: Iterable[Job]) -> History:
    """Everything in one order: the journal, the engine's account, and last how each job stands."""
    told = [record for line in lines for record in records(line)]
    found = merge(rising(account), told)
    at = found.records[-1].at if len(found) else 0
    for job in jobs:
        found.add(at, "engine", "final", "ok", job.id, job.token, state=job.state)
    return found


def rising(account: list[Record]) -> Iterator[Record]:
    """The account with instants that never fall, so that ordering by them keeps the order of the commits.

    What one statement took (the same worker at the same instant) is marked as one commit.
    """
    at, commit, taker = 0, 0, None
    for record in account:
        taking = (record.at, record.args["worker"]) if record.args.get("after") == "running" else None
        commit += taking is None or taking != taker
        at, taker = max(at, record.at), taking
        yield record._replace(at=at, args={**record.args, "commit": commit} if record.op == "move" else record.args)


def records(line: Line) -> Iterator[Record]:
    """The records in one line of the journal."""
    read = READERS.get(line["op"])
    who = f"{line['who']}.{line['pid']}"
    for op, phase, job, token, args in read(line) if read else ():
        yield Record(0, line["wall"], who, op, phase, job, token, args)


Told = tuple[str, str, str, int, dict[str, Any]]


def _enqueue(line: Line) -> Iterator[Told]:
    args: dict[str, Any] = {"batch": line["ids"][0]} if line["kind"] == "bulk" else {}
    if line["kind"] == "keyed":
        args = {"key": line["items"][0], "mode": "period"}
    if line["kind"] == "child":
        args = {"parent": line["parent"], "parent_token": line["token"]}
    return (("enqueue", "invoke", job, 0, args) for job in line["ids"])


def _acked(line: Line) -> Iterator[Told]:
    answers = zip(line["ids"], line["answers"], line["created"], strict=True)
    return (("enqueue", "ok", answer, 0, {"sent": sent, "created": created}) for sent, answer, created in answers)


def _refused(line: Line) -> Iterator[Told]:
    return (("enqueue", "unknown", job, 0, {}) for job in line["ids"])


def _claimed(line: Line) -> Iterator[Told]:
    return (("claim", "ok", job, token, {}) for job, token in line["jobs"])


def _start(line: Line) -> Iterator[Told]:
    yield "start", "ok", line["job"], line["token"], {}


def _end(line: Line) -> Iterator[Told]:
    yield "end", "ok", line["job"], line["token"], {"outcome": line["how"]}


def _verdicts(line: Line) -> Iterator[Told]:
    phases = {STORED: "ok", LOST: "refused"}
    for job, token, state, outcome, verdict in line["jobs"]:
        if verdict in phases:
            by = "sweep" if outcome in ("crashed", "lost_unknown", GIVEN_UP) else "worker"
            told = INTERRUPTED.kind if outcome == GIVEN_UP else outcome
            yield "finish", phases[verdict], job, token, {"state": state, "outcome": told, "by": by}


def _cancelled(line: Line) -> Iterator[Told]:
    yield "cancel", "ok", line["job"], 0, {"answer": line["answer"]}


READERS = {
    "enqueue": _enqueue, "acked": _acked, "refused": _refused, "claimed": _claimed, "start": _start, "end": _end,
    "verdicts": _verdicts, "cancelled": _cancelled,
}  # fmt: skip
