"""Claiming jobs and finishing them: the hot path of a worker. One script call each."""

from __future__ import annotations

from functools import partial
from itertools import repeat
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Any

from ...core.counting import packed as counted
from ...core.decide import Completed
from ...core.draft import pack_drafts
from ...core.errors import LeaseLost
from ...core.job import Claimed, field_getter
from ...core.outcome import DEATHS
from ...core.review import due
from ...core.states import REVIEW
from ...core.updates import WARNED, Checkpoint, Log, Progress
from ...core.verdict import ALREADY, CANCELLING, LOST, STORED
from ..results import Claims
from ..turns import may_postpone
from . import enqueue, header, record, script
from .record import LETTERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...core.decide import Transition
    from ...core.updates import Update
    from .connect import Server
    from .store import RedisStore

    Wants = Mapping[str, Sequence[str]]

FEW = 16  # lanes that a claim names; of more it sends queues and types
TEXTS = 16  # over which the names are spread
CACHED = 100  # mappings of what is wanted
FAILURES = ("failed", "timed out", *DEATHS)  # the kinds of outcomes that a breaker counts as failures
_VERDICTS = {"s": STORED, "a": ALREADY, "c": CANCELLING, "l": LOST}
_packed: dict[int, tuple[Wants, list[Any]]] = {}


def claim(
    store: RedisStore, worker: str, wants: Wants, limit: int, now: int, finishing: Sequence[Transition] = (),
    updates: Sequence[Update] = (),
) -> Claims:  # fmt: skip
    """Write updates, apply transitions, promote due jobs and claim, in one call."""
    kind, wanted = packed(wants)
    patient = may_postpone(store, limit, now)
    values = [store.engine_now(now), worker, max(0, limit), int(patient), *wanted, *_updates(updates)]
    reply = store.run_hot("claim" + kind, values + _transitions(store.server, finishing, worker), _bear(finishing))
    if reply == "lost":
        raise LeaseLost(f"worker {worker} is not registered, or its lease ran out")
    verdicts, started, wait, takes = reply[:4]
    jobs = claimed(reply[4:], started, worker) if len(reply) > 4 else []
    if not patient or takes > 1 or len(jobs) < limit:
        store.examined_at = now
    if takes > 1:
        places = {queue: place for place, queue in enumerate(wants)}
        jobs.sort(key=lambda job: (places[job.queue], *_place(job)))
    return Claims([_VERDICTS[letter] for letter in verdicts], jobs, wait)


# what is wanted ---------------------------------------------------------------------------------------------------
def packed(wants: Wants) -> tuple[str, list[Any]]:
    """Return what a worker wants as the scripts take it (parts/few.lua, many.lua), and the end of the script's name.

    A worker passes the same mapping with each claim, so a large one is packed once.
    """
    known = _packed.get(id(wants))
    if known is not None and known[0] == wants:
        return script.MANY, known[1]
    wanted = sum(map(len, wants.values()))
    if wanted <= FEW:
        return "", _lanes(wants)
    if len(_packed) >= CACHED:
        _packed.clear()
    texts = _texts(wants)
    _packed[id(wants)] = dict(wants), [wanted, len(texts), *texts]
    return script.MANY, _packed[id(wants)][1]


def _lanes(wants: Wants) -> list[Any]:
    """Return the lanes of each queue."""
    values: list[Any] = [len(wants)]
    for queue, types in wants.items():
        names = dict.fromkeys(types)  # a lane that is named twice would be read twice
        values.append(len(names))
        values += [header.lane(queue, name) for name in names]
    return values


def _texts(wants: Wants) -> list[bytes]:
    """Return the queues, then the types of each group of queues that want the same."""
    groups: dict[tuple[str, ...], int] = {}
    queues = {queue: groups.setdefault(tuple(types), len(groups) + 1) for queue, types in wants.items()}
    return [*_spread(queues), *(text for types in groups for text in _spread(dict.fromkeys(types, 0)))]


def _spread(names: Mapping[str, int]) -> list[bytes]:
    """Return names with position and group, spread over texts by their last bytes. UTF-8 never has the bytes 254 and 255."""
    texts = [b""] * TEXTS
    for position, (name, group) in enumerate(names.items(), 1):
        raw = name.encode()
        one, two = raw[-2:] if len(raw) > 1 else (*raw, 0) if raw else (0, 0)
        texts[(one + 3 * two) % TEXTS] += b"\xff%s\xfe%06d%06d" % (raw, position, group)
    return texts


# what is claimed --------------------------------------------------------------------------------------------------
_RETURNED = ("seq", "payload", *record.CLAIMED)
_JOB = len(_RETURNED)
_new = partial(tuple.__new__, Claimed)


def claimed(values: list[Any], started: int, worker: str) -> list[Claimed]:
    """Return the jobs of a reply, in its order. Column by column: that takes less time than job by job."""
    found: dict[str, Any] = {name: values[n::_JOB] for n, name in enumerate(_RETURNED)}
    headers = [text.split("\n") for text in found["header"]]  # a job with rules has them in a fourth line
    found |= zip(header.POLICY, zip(*[header.policy(lines[0]) for lines in headers], strict=True), strict=True)
    found["id"] = [seq[record.SEQ :] for seq in found["seq"]]
    found["created_at"] = [int(lines[1].partition(" ")[0]) for lines in headers]
    found["rank"] = [-priority for priority in found["priority"]]
    found["version"] = [header.version(lines[2]) if lines[2] else 1 for lines in headers]
    found["rules"] = [lines[3] if len(lines) > 3 else None for lines in headers]
    found |= {"started_at": repeat(started), "cancelling": repeat(False), "worker": repeat(worker)}
    return list(map(_new, zip(*[found[name] for name in Claimed._fields], strict=False)))


_ROWS: record.Rows[Claimed] = record.Rows(Claimed)
_place = field_getter(Claimed, "rank", "ord", "seq")


def claimed_by(store: RedisStore, worker: str) -> list[Claimed]:
    """Return the running jobs of a worker."""
    return sorted(map(_ROWS.read, store.server.run("claimed_by", [worker, _ROWS.request])), key=_place)


# what becomes of it -----------------------------------------------------------------------------------------------
def finish(store: RedisStore, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
    """Apply transitions. Return a verdict on each."""
    if not transitions and not updates:
        return []
    now = store.engine_now(transitions[0].at if transitions else 0)
    worker = transitions[0].worker or "" if transitions else ""
    values = [now, worker, *_updates(updates), *_transitions(store.server, transitions, worker)]
    return [_VERDICTS[letter] for letter in store.run_hot("finish", values, _bear(transitions))]


def _bear(transitions: Sequence[Transition]) -> bool:
    """Return whether jobs enqueue others as they end: those may have rules."""
    return any(type(t) is not Completed and t.children for t in transitions)


def _transitions(server: Server, transitions: Sequence[Transition], worker: str) -> list[Any]:
    """Return transitions of a worker, nearly always, as the scripts take them: five values each (statements/parts/outcome.lua)."""
    values: list[Any] = []
    for t in transitions:
        expires = "" if t.expires_at is None else t.expires_at
        extra = "" if type(t) is Completed and t.worker == worker else _extra(server, t)
        values += (t.seq, t.token, t.at, expires, extra)
    return values


def _extra(server: Server, t: Transition) -> str:
    found: dict[str, Any] = {
        "worker": t.worker or "", "state": LETTERS[t.state], "attempt": t.attempt, "crashes": t.crashes,
        "crashed": 1 if t.outcome in DEATHS else None, "run_at": t.run_at, "finished": t.finished_at, "reason": t.reason,
        "error": t.error, "code": t.code, "result": t.result, "fingerprint": t.fingerprint, "counted": counted(t),
    }  # fmt: skip
    if t.rules is not None and '"breaker"' in t.rules and (t.outcome in FAILURES or t.outcome == "completed"):
        found["trial"] = "failed" if t.outcome in FAILURES else "completed"
    if t.recorded:
        attempt = (t.number, t.token, t.worker, t.started_at, t.at, t.outcome, t.error, t.traceback)
        found["record"] = header.dumps(attempt)
    if t.review is not None:
        found |= {"review": t.review, "due": due(t.review)}
    if t.children and t.state == REVIEW:
        found["kept"] = pack_drafts(t.children)
    elif t.children:
        found["children"] = enqueue.flat(enqueue.prepared_children(server, t.children, t.at))
    return header.dumps({name: value for name, value in found.items() if value is not None})


def _updates(updates: Sequence[Update]) -> list[Any]:
    """Return updates as the scripts take them, behind their number: attempt by attempt (statements/parts/update.lua)."""
    attempts: dict[tuple[int | str, int], list[Update]] = {}
    for each in updates:
        attempts.setdefault(each[:2], []).append(each)
    values: list[Any] = [len(attempts)]
    for attempt, some in attempts.items():
        values += _packed_updates(*attempt, some)
    return values


def _packed_updates(seq: int | str, token: int, updates: list[Update]) -> list[Any]:
    others: list[str] = []
    lines, warned = [], 0
    for each in updates:
        if type(each) is Log:
            lines.append(_member(each))
            if each.level in WARNED:
                warned = each.at
        elif type(each) is Progress:
            others += "progress", header.dumps((each.done, each.total, each.stage))
            others += ("details", each.details) if each.details else ()
        elif type(each) is Checkpoint:
            others += "checkpoint", each.body
    if warned:
        others += "warned", str(warned)
    return [seq, token, len(lines), len(others) // 2, *others, *lines]


def _member(log: Log) -> str:
    """Return a log line, or several, as `reads.log_lines` reads it."""
    _, token, n, at, level, stage, message, fields, lines = log
    if lines is None:
        return f"{token:08x}{n:08x}{header.dumps((at, level, stage, message, fields))}"
    return f'{token:08x}{n:08x}[{at},"{level}",[{lines}],{quoted(message)},null]'  # in a fifth of the time
