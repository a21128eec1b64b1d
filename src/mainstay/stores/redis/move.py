"""Exporting and importing an installation, row by row."""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import msgpack

from ...core import export, keys
from ...core.draft import Draft
from ...core.errors import Conflict
from ...core.export import AfterRecord, AttemptRecord, Batch, JobRecord, RuleRecord, SettingRecord, TypeRecord
from ...core.job import Attempt, Rule
from ...core.limits import effective
from ...core.review import due
from ...core.updates import WARNED
from . import header, record
from .keys import export_keys, packed_key
from .maintenance import declaration, note_of, types
from .reads import log_lines, read, rules, with_codes
from .record import LETTERS, SEQ
from .rules import KINDS, text_of
from .tallies import export_tallies, packed_tally
from .webhooks import export_deliveries, packed_delivery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .store import RedisStore

    Row = tuple[Any, ...]

LOOKED = 2_000  # jobs looked at in one call, which blocks the server
WINDOW = 200_000  # jobs whose order is kept in memory
_ROWS: record.Rows[JobRecord] = record.Rows(JobRecord)


# Out ------------------------------------------------------------------------------------------------------------------
def export_rows(store: RedisStore, part: str, after: str | None, limit: int) -> Batch:
    """Return the next rows of a part."""
    return _EXPORTS[part](store, after, limit)


class Order(NamedTuple):
    """Jobs in the order in which they were accepted, number before id: those after `floor`, all or the first of them."""

    floor: str
    members: list[str]
    whole: bool

    def reaches(self, number: str) -> bool:
        """Return whether this tells which job follows a number."""
        return self.floor <= number and (self.whole or number < self.members[-1][:SEQ])


_orders: WeakKeyDictionary[RedisStore, Order] = WeakKeyDictionary()


def _jobs(store: RedisStore, after: str | None, limit: int) -> Batch:
    """Return jobs by their number. No index has that order: it is read at the beginning, and again after each window."""
    order = _order(store, after)
    start = bisect_right(order.members, f"{after}~") if after else 0
    members = order.members[start : start + limit]
    if not members:
        return Batch([], None)
    looked, jobs = records(store, [member[SEQ:] for member in members])
    more = start + looked < len(order.members) or not order.whole
    return Batch(list(jobs), members[looked - 1][:SEQ] if more else None)


def records(store: RedisStore, ids: Sequence[str]) -> tuple[int, list[JobRecord]]:
    """Return how many of the ids were looked at, and the records of those that exist."""
    looked, jobs = read(store, _ROWS, ids)
    return looked, [job._replace(tags=json.dumps(job.tags) if job.tags else None) for job in jobs]


def _order(store: RedisStore, after: str | None) -> Order:
    known = _orders.get(store)
    if after is None or known is None or not known.reaches(after):
        known = _orders[store] = _ordered(store, after or "")
    return known


def _ordered(store: RedisStore, floor: str) -> Order:
    """Return the first jobs after a number, one window of them however many there are."""
    found: list[str] = []
    whole, last = True, None
    while last != "":
        last, *members = store.server.run("export_order", [last or "", LOOKED, floor])
        found += members
        if len(found) > 2 * WINDOW:
            found.sort()
            del found[WINDOW:]
            whole = False
    found.sort()
    return Order(floor, found, whole)


def _history(kind: str, rows_of: Callable[[str, str], Sequence[Row]]) -> Callable[[RedisStore, str | None, int], Batch]:
    """Return how to export attempts or log lines: by job and then in their order; jobs without any are skipped."""

    def rows_after(store: RedisStore, after: str | None, limit: int) -> Batch:
        job, _, through = (after or " 0").partition(" ")
        while True:
            job, through, *found = store.server.run("export_history", [kind, job, through, limit, LOOKED])
            if found or not job:
                rows = [row for pair in zip(found[::2], found[1::2], strict=True) for row in rows_of(*pair)]
                return Batch(_coded(store, rows) if kind == "attempt" else rows, f"{job} {through}" if job else None)

    return rows_after


def attempt_of(job: str, line: str) -> AttemptRecord:
    """Return an attempt from its line."""
    return AttemptRecord(job, **Attempt(*json.loads(line))._asdict())


def _coded(store: RedisStore, rows: list[Row]) -> list[Row]:
    """Return attempts with their codes, which are in a hash for each job that has any."""
    of_job = {job: list(some) for job, some in groupby(rows, key=itemgetter(0))}
    codes = store.server.on_keys([("HGETALL", f"codes:{job}") for job in of_job])
    return [row for some, found in zip(of_job.values(), codes, strict=True) for row in with_codes(some, found)]


def _actions(store: RedisStore, after: str | None, limit: int) -> Batch:
    first = int(after) + 1 if after else int(store.server.read("GET", "first_action") or 1)
    numbers = range(first, first + limit)
    last, lines, bulks = store.server.on_keys(
        [("GET", "actions"), ("HMGET", "action", *numbers), ("HMGET", "bulk_of", *numbers)]
    )
    found = [(*json.loads(line), bulk) for line, bulk in zip(lines, bulks, strict=True) if line is not None]
    rows: list[Row] = [
        export.ActionRecord._make((int(at), *rest, json.dumps(detail), bulk)) for at, *rest, detail, bulk in found
    ]
    return Batch(rows, str(numbers[-1]) if int(last or 0) > numbers[-1] else None)


def _types(store: RedisStore, _after: str | None, _limit: int) -> Batch:
    rows: list[Row] = [TypeRecord._make(info._replace(policy=json.dumps(info.policy))) for info in types(store)]  # type: ignore[arg-type]
    return Batch(rows, None)


def _settings(store: RedisStore, _after: str | None, _limit: int) -> Batch:
    found, notes = store.server.on_keys([("HGETALL", "setting"), ("HGETALL", "setting_note")])
    known = dict(zip(notes[::2], notes[1::2], strict=True))
    pairs = zip(found[::2], found[1::2], strict=True)
    rows: list[Row] = [
        SettingRecord(name, value, *note_of(known.get(name)))
        for name, value in pairs
        if not name.startswith(export.PRIVATE)
    ]
    return Batch(rows, None)


def _rules(store: RedisStore, _after: str | None, _limit: int) -> Batch:
    found = rules(store, KINDS)
    return Batch([RuleRecord._make(rule._replace(value=json.dumps(rule.value))) for rule in found], None)  # type: ignore[arg-type]


def _after_rows(store: RedisStore, after: str | None, limit: int) -> Batch:
    """Return the parents of waiting jobs, by child."""
    low = f"({after}" if after else "[c"
    found = store.server.read("ZRANGEBYLEX", "after", low, "(d", "LIMIT", 0, limit)
    rows: list[Row] = [AfterRecord(parent, child) for child, parent in (member[1:].split("\0") for member in found)]
    return Batch(rows, found[-1] if len(found) == limit else None)


_EXPORTS: dict[str, Callable[[RedisStore, str | None, int], Batch]] = {
    "jobs": _jobs, "attempts": _history("attempt", lambda job, line: [attempt_of(job, line)]), "logs": _history("log", log_lines), "actions": _actions,
    "types": _types, "settings": _settings, "keys": export_keys, "rules": _rules, "after": _after_rows, "tallies": export_tallies,
    "deliveries": export_deliveries,
}  # fmt: skip


# In -------------------------------------------------------------------------------------------------------------------
def import_rows(store: RedisStore, part: str, rows: Sequence[Row], was: str, mark: str) -> None:
    """Write rows as they are and move the mark, in one call."""
    values = [value for row in rows for value in _IMPORTED[part](*row)]
    if not store.server.run("import", [was, mark, part, *values]):
        raise Conflict(export.ANOTHER)


def packed_job(*row: Any) -> tuple[str, bytes]:
    """Return the id of a job, and its record and texts."""
    job = JobRecord._make(row)
    texts = {record.HASHES.get(name, name): getattr(job, name) for name in record.TEXTS if name in JobRecord._fields}
    progress = [getattr(job, name) for name in record.PROGRESS]
    if progress != [None] * len(progress):
        texts["progress"] = header.dumps(progress)
    kept = {name: text for name, text in texts.items() if text is not None}
    return job.id, msgpack.encode([_record(job), kept, due(job.review) or False])


def _record(job: JobRecord) -> list[Any]:
    """Return the record of a job. The store gives it its number."""
    asked = {name: value for name, value in job._asdict().items() if name in Draft.__slots__}
    draft = Draft(**asked | {"tags": tuple(json.loads(job.tags or "[]"))})
    lane, text = header.write(draft)
    found = job._asdict() | {
        "state": LETTERS[job.state], "seq": "", "lane": lane, "lock": _lock(job), "held": job.lock is not None,
        "terms": header.terms(draft) or None, "header": text,
    }  # fmt: skip
    found |= {"rated": False, "awaited": False}
    values = [False if found[name] is None else found[name] for name in record.FIELDS]
    return values if any(value is not False for value in values[record.SHORT :]) else values[: record.SHORT]


def _lock(job: JobRecord) -> str | None:
    """Return the lock that a job holds, or the one that a retry takes again."""
    if job.lock is None and job.key is not None and job.lock_until in (None, 0):
        return keys.lock(job.type, job.key, "alive", None, 0)[0]
    return job.lock


def packed_attempt(*row: Any) -> tuple[str, bytes]:
    """Return the commands of an attempt, its token and its code, which becomes a term of the job too."""
    attempt = AttemptRecord._make(row)
    line = header.dumps([getattr(attempt, name) for name in Attempt._fields[:-1]])  # the code is apart
    commands: list[tuple[str, ...]] = [("RPUSH", f"attempt:{attempt.job}", line)]
    if attempt.error is not None:
        commands += [("HSET", "error", attempt.job, attempt.error), ("HDEL", "code", attempt.job)]
    return attempt.job, msgpack.encode([commands, attempt.token, attempt.code or False])


def packed_log(job: str, token: int, n: int, *line: Any) -> tuple[str, bytes]:
    """Return the job of a log line, and the commands that write it."""
    commands = [("ZADD", f"log:{job}", 0, f"{token:08x}{n:08x}{header.dumps(line)}")]
    at, level = line[:2]
    return job, msgpack.encode(commands + ([("ZADD", "warned", at, job)] if level in WARNED else []))


def packed_action(
    at: int, actor: str, action: str, job: str | None, detail: str, bulk: str | None
) -> tuple[str, bytes]:
    """Return the job of an action, and its entry."""
    entry = header.dumps((at, actor, action, job, json.loads(detail)))
    return job or "", msgpack.encode([entry, bulk] if bulk else [entry])


def _packed_type(*row: Any) -> tuple[str, bytes]:
    info = TypeRecord._make(row)
    text = json.dumps(info._asdict() | {"policy": json.loads(info.policy)})
    if info.created_at is not None and info.updated_at is not None:  # as the script `register_types` writes it
        times = f'{{"created_at":{info.created_at},"updated_at":{info.updated_at},"seen_at":{info.seen_at},'
        text = times + declaration(info)[1:]
    return "", msgpack.encode([("HSET", "type", info.name, text)])


def _packed_setting(name: str, value: str, description: str | None, updated_at: int | None) -> tuple[str, bytes]:
    commands = [("HSET", "setting", name, value)]
    if description is not None or updated_at is not None:
        note = f"{'' if updated_at is None else updated_at} {'0 ' if description is None else '1 ' + description}"
        commands.append(("HSET", "setting_note", name, note))
    return "", msgpack.encode(commands)


def _packed_rule(*row: Any) -> tuple[str, bytes]:
    found = RuleRecord._make(row)
    rule = Rule(found.kind, found.name, json.loads(found.value), found.actor, found.at, found.reason)
    return "", msgpack.encode([rule.kind, rule.name, text_of(rule), "max_depth" in effective(rule.value)])


# How to write a row of each part: the id of its job, and the row (statements/import.lua).
_IMPORTED: dict[str, Callable[..., tuple[Any, ...]]] = {
    "jobs": packed_job, "attempts": packed_attempt, "logs": packed_log, "actions": packed_action,
    "types": _packed_type, "settings": _packed_setting, "keys": packed_key, "rules": _packed_rule,
    "after": lambda parent, child: (parent, child), "tallies": packed_tally, "deliveries": packed_delivery,
}  # fmt: skip
