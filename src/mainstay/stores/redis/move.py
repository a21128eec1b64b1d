"""Settings, and an installation row by row: out of this store, or into it."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import msgpack

from ...core import keys
from ...core.draft import Draft
from ...core.errors import Conflict
from ...core.export import (
    ANOTHER,
    PRIVATE,
    ActionRecord,
    AttemptRecord,
    Batch,
    JobRecord,
    LogRecord,
    SettingRecord,
    TypeRecord,
    real,
)
from . import header
from .claim import SEQ
from .state_codes import LETTERS, STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .connect import Server

    Row = tuple[Any, ...]

BYTES = 8 << 20  # of texts in one answer: one job more than that is enough
LOOKED = 2_000  # jobs looked at in one call: others wait meanwhile
WINDOW = 200_000  # jobs whose order is kept in memory


def setting(server: Server, name: str) -> str | None:
    """One setting."""
    found: str | None = server.read("HGET", "setting", name)
    return found


def set_setting(server: Server, name: str, value: str | None) -> None:
    """Change or remove a setting."""
    if value is None:
        server.read("HDEL", "setting", name)
    else:
        server.run("set_setting", [name, value])


# Out ------------------------------------------------------------------------------------------------------------------
def export_rows(server: Server, part: str, after: str | None, limit: int) -> Batch:
    """The next rows of a part."""
    return _DUMPS[part](server, after, limit)


class Order(NamedTuple):
    """Jobs in the order in which they were accepted, number before id: those behind `floor`, all or the first of them."""

    floor: str
    members: list[str]
    whole: bool

    def reaches(self, number: str) -> bool:
        """Whether this tells which job follows a number."""
        return self.floor <= number and (self.whole or number < self.members[-1][:SEQ])


_orders: WeakKeyDictionary[Server, Order] = WeakKeyDictionary()


def _jobs(server: Server, after: str | None, limit: int) -> Batch:
    """Jobs by their number. No index has that order, so it is found out at the beginning, and again a window further on."""
    order = _order(server, after)
    start = bisect_right(order.members, f"{after}~") if after else 0
    members = order.members[start : start + limit]
    if not members:
        return Batch([], None)
    looked, *rows = server.run("export_jobs", [BYTES, *(member[SEQ:] for member in members)])
    more = start + looked < len(order.members) or not order.whole
    return Batch([_job(row) for row in rows], members[looked - 1][:SEQ] if more else None)


def _order(server: Server, after: str | None) -> Order:
    known = _orders.get(server)
    if after is None or known is None or not known.reaches(after):
        known = _orders[server] = _ordered(server, after or "")
    return known


def _ordered(server: Server, floor: str) -> Order:
    """The first jobs behind a number, in memory for one window however many there are."""
    found: list[str] = []
    whole = True
    for members in _numbered(server, floor):
        found += members
        if len(found) > 2 * WINDOW:
            found.sort()
            del found[WINDOW:]
            whole = False
    found.sort()
    return Order(floor, found, whole)


def _numbered(server: Server, floor: str) -> Iterator[list[str]]:
    last = ""
    while True:
        last, *members = server.run("export_order", [last, LOOKED, floor])
        yield members
        if not last:
            return


def _job(row: list[Any]) -> Row:
    (
        job, letter, ord, run_at, attempt, crashes, token, worker, lock, until, started, finished, expires, cancel, reason,
        text, payload, result, checkpoint, progress,
    ) = row  # fmt: skip
    (type, queue, priority, most, timeout, keep, backoff), created, parent, key, tenant, ref, tags = header.read(text)
    done, total, stage = json.loads(progress) if progress else (None, None, None)
    return JobRecord(
        job, type, queue, STATES[letter], priority, ord, run_at, attempt, most, crashes, token, worker, lock, until, timeout,
        keep, backoff, created, started, finished, expires, cancel, reason, payload, key, tenant, ref,
        json.dumps(tags) if tags else None, parent, result, checkpoint, real(done), real(total), stage,
    )  # fmt: skip


def _history(kind: str, record: Callable[[str, str], Row]) -> Callable[[Server, str | None, int], Batch]:
    """How to dump attempts or log lines: by job and then in their order; the jobs without any are passed over."""

    def dumped(server: Server, after: str | None, limit: int) -> Batch:
        job, _, through = (after or " 0").partition(" ")
        while True:
            job, through, *found = server.run("export_history", [kind, job, through, limit, LOOKED])
            if found or not job:
                rows = [record(*pair) for pair in zip(found[::2], found[1::2], strict=True)]
                return Batch(rows, f"{job} {through}" if job else None)

    return dumped


def _attempt(job: str, line: str) -> Row:
    number, token, worker, started, ended, outcome, error, traceback = json.loads(line)
    return AttemptRecord(job, token, number, worker, started, ended, outcome, error, traceback)


def _log(job: str, member: str) -> Row:
    return LogRecord(job, int(member[:8], 16), int(member[8:16], 16), *json.loads(member[16:]))


def _actions(server: Server, after: str | None, limit: int) -> Batch:
    first = int(after or 0) + 1
    numbers = range(first, first + limit)
    last, lines = server.commands([("GET", server.prefix + "actions"), ("HMGET", server.prefix + "action", *numbers)])
    rows = [_action(*json.loads(line)) for line in lines if line is not None]
    return Batch(rows, str(numbers[-1]) if int(last or 0) > numbers[-1] else None)


def _action(at: float, actor: str, action: str, job: str | None, detail: Any) -> Row:
    return ActionRecord(int(at), actor, action, job, json.dumps(detail))


def _types(server: Server, _after: str | None, _limit: int) -> Batch:
    found = [json.loads(text) for text in server.read("HVALS", "type")]
    return Batch([TypeRecord(**each | {"policy": json.dumps(each["policy"])}) for each in found], None)


def _settings(server: Server, _after: str | None, _limit: int) -> Batch:
    found = server.read("HGETALL", "setting")
    pairs = zip(found[::2], found[1::2], strict=True)
    return Batch([SettingRecord(*pair) for pair in pairs if not pair[0].startswith(PRIVATE)], None)


_DUMPS: dict[str, Callable[[Server, str | None, int], Batch]] = {
    "jobs": _jobs, "attempts": _history("attempt", _attempt), "logs": _history("log", _log), "actions": _actions,
    "types": _types, "settings": _settings,
}  # fmt: skip


# In -------------------------------------------------------------------------------------------------------------------
def import_rows(server: Server, part: str, rows: Sequence[Row], was: str, mark: str) -> None:
    """Write rows as they are and move the mark, in one call."""
    if not server.run(f"import_{part}", [was, mark, *_LOADS[part](rows)]):
        raise Conflict(ANOTHER)


def _packed_jobs(rows: Sequence[Row]) -> Iterator[str | bytes]:
    for row in rows:
        job = JobRecord._make(row)
        progress = (job.done, job.total, job.stage)
        said = None if progress == (None, None, None) else header.dumps(progress)
        parts = (_record(job), job.payload, job.result, job.checkpoint, said)
        yield job.id
        yield msgpack.encode([_or_false(part) for part in parts])


def _record(job: JobRecord) -> list[Any]:
    """The record as statements/parts/record.lua has it; its number is given by the store."""
    draft = _draft(job)
    lane, text = header.write(draft)
    values = (
        LETTERS[job.state], job.token, job.attempt, job.crashes, "", job.priority, job.ord, lane, job.timeout, job.keep,
        job.worker, job.run_at, job.started_at, job.finished_at, job.expires_at, job.cancel_at, _lock(job),
        job.lock_until, job.lock is not None, job.reason, header.terms(draft) or None, text,
    )  # fmt: skip
    return [_or_false(value) for value in values]


def _or_false(value: Any) -> Any:
    return False if value is None else value


def _draft(job: JobRecord) -> Draft:
    """What was asked for."""
    return Draft(
        job.type, job.payload, queue=job.queue, priority=job.priority, created_at=job.created_at,
        max_attempts=job.max_attempts, backoff=job.backoff, timeout=job.timeout, keep=job.keep, key=job.key,
        tenant=job.tenant, ref=job.ref, tags=tuple(json.loads(job.tags or "[]")), parent=job.parent,
    )  # fmt: skip


def _lock(job: JobRecord) -> str | None:
    """The lock it holds, or the one that a retry takes again."""
    if job.lock is None and job.key is not None and job.lock_until in (None, 0):
        return keys.lock(job.type, job.key, "alive", None, 0)[0]
    return job.lock


def _lines_of_attempts(rows: Sequence[Row]) -> Iterator[Any]:
    """Errors first: each job shows its last one."""
    attempts = [AttemptRecord._make(row) for row in rows]
    errors = {attempt.job: attempt.error for attempt in attempts if attempt.error is not None}
    yield len(errors)
    for pair in errors.items():
        yield from pair
    for a in attempts:
        yield a.job
        yield header.dumps((a.number, a.token, a.worker, a.started_at, a.ended_at, a.outcome, a.error, a.traceback))


def _lines_of_logs(rows: Sequence[Row]) -> Iterator[str]:
    for job, token, n, *line in rows:
        yield job
        yield f"{token:08x}{n:08x}{header.dumps(line)}"


def _lines_of_actions(rows: Sequence[Row]) -> Iterator[str]:
    for at, actor, action, job, detail in rows:
        yield job or ""
        yield header.dumps((at, actor, action, job, json.loads(detail)))


def _declared(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        info = TypeRecord._make(row)._asdict()
        yield info["name"]
        yield json.dumps(info | {"policy": json.loads(info["policy"])})


def _pairs(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield from row


_LOADS: dict[str, Callable[[Sequence[Row]], Iterator[Any]]] = {
    "jobs": _packed_jobs, "attempts": _lines_of_attempts, "logs": _lines_of_logs, "actions": _lines_of_actions,
    "types": _declared, "settings": _pairs,
}  # fmt: skip
