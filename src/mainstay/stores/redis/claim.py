"""Taking jobs and giving them back: the hot path of a worker, and the one door out of `running`. One call each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.decide import Completed
from ...core.errors import LeaseLost
from ...core.job import Claimed, field_getter
from ...core.updates import Checkpoint, Log, Progress
from ...core.verdict import ALREADY, CANCELLING, LOST, STORED
from ..contract import Claims
from . import enqueue, header
from .state_codes import LETTERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...core.decide import Transition
    from ...core.updates import Update
    from .connect import Server

SEQ = 12  # characters of the number in front of an id
JOB = 7  # values a claimed job
_PLACE = field_getter(Claimed, "rank", "ord", "seq")
_VERDICTS = {"s": STORED, "a": ALREADY, "c": CANCELLING, "l": LOST}


def claim(
    server: Server, worker: str, wants: Mapping[str, Sequence[str]], limit: int, judged: int | str,
    finishing: Sequence[Transition], updates: Sequence[Update],
) -> Claims:  # fmt: skip
    """Notes, finishes, promotion and claim in one call."""
    values = [judged, worker, max(0, limit), *lanes(wants), len(updates), *_updates(updates)]
    values += _transitions(server, finishing)
    answer = server.run("claim", values)
    if answer == "lost":
        raise LeaseLost(f"worker {worker} is not registered, or its lease ran out")
    verdicts, now, wait = answer[:3]
    jobs = [_claimed(answer, n, now, worker) for n in range(3, len(answer), JOB)]
    return Claims([_VERDICTS[letter] for letter in verdicts], jobs, wait)


def lanes(wants: Mapping[str, Sequence[str]]) -> list[Any]:
    """What is wanted, as the scripts take it (statements/parts/take.lua)."""
    values: list[Any] = [len(wants)]
    for queue, types in wants.items():
        values.append(len(types))
        values += [header.lane(queue, name) for name in types]
    return values


def grabbed(answer: list[Any] | None, worker: str) -> list[Claimed]:
    """The job that came with a ring, if one did (statements/grab.lua)."""
    return [_claimed(answer, 1, answer[0], worker)] if answer else []


def _claimed(answer: list[Any], n: int, started: int, worker: str | None, cancelling: bool = False) -> Claimed:
    """The job that begins at place `n` of an answer."""
    seq, text, payload, attempt, crashes, token, ord = answer[n : n + JOB]
    first, origin, _ = text.split("\n")
    type, queue, priority, max_attempts, timeout, keep, backoff = header.head(first)
    return tuple.__new__(Claimed, (
        seq, seq[SEQ:], type, queue, attempt, max_attempts, crashes, token, timeout, keep, backoff,
        int(origin.partition(" ")[0]), started, cancelling, payload, -priority, ord, worker,
    ))  # fmt: skip


def of_row(row: list[Any]) -> Claimed:
    """A running job from its row (statements/parts/row.lua)."""
    return _claimed(row, 0, row[7], row[9], bool(row[8]))


def claimed_by(server: Server, worker: str) -> list[Claimed]:
    """What a worker holds."""
    return sorted(map(of_row, server.run("claimed_by", [worker])), key=_PLACE)


def finish(
    server: Server, transitions: Sequence[Transition], updates: Sequence[Update], judged: int | str
) -> list[str]:
    """Apply transitions; per transition a verdict."""
    if not transitions and not updates:
        return []
    values = [judged, len(updates), *_updates(updates), *_transitions(server, transitions)]
    return [_VERDICTS[letter] for letter in server.run("finish", values)]


def _transitions(server: Server, transitions: Sequence[Transition]) -> list[Any]:
    """Transitions as the scripts take them: five values each (statements/parts/outcome.lua)."""
    values: list[Any] = []
    for t in transitions:
        expires = "" if t.expires_at is None else t.expires_at
        values += (t.seq, t.token, t.at, expires, "" if type(t) is Completed else _extra(server, t))
    return values


def _extra(server: Server, t: Transition) -> str:
    found: dict[str, Any] = {
        "state": LETTERS[t.state], "attempt": t.attempt, "crashes": t.crashes, "run_at": t.run_at, "finished": t.finished_at,
        "reason": t.reason, "error": t.error, "result": t.result, "record": _record(t) if t.recorded else None,
    }  # fmt: skip
    if t.children:
        enqueue.prepare(server, t.children, t.at)
        found["children"] = enqueue.flat(t.children)
    return header.dumps({name: value for name, value in found.items() if value is not None})


def _record(t: Transition) -> str:
    """How an attempt ended, as it is kept."""
    return header.dumps((t.number, t.token, t.worker, t.started_at, t.at, t.outcome, t.error, t.traceback))


def _updates(updates: Sequence[Update]) -> list[Any]:
    """Notes as the scripts take them: five values each (statements/parts/note.lua)."""
    values: list[Any] = []
    for each in updates:
        values += (each.seq, each.token, *_WORDS[type(each)](each))
    return values


_WORDS: dict[type, Any] = {
    Log: lambda log: ("l", log.n, header.dumps((log.at, log.level, log.stage, log.message, log.fields))),
    Progress: lambda progress: ("p", 0, header.dumps((progress.done, progress.total, progress.stage))),
    Checkpoint: lambda checkpoint: ("c", 0, checkpoint.body),
}
