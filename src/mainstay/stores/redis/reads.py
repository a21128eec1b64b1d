"""Reads of jobs and workers: bounded reads of an index, never of all keys."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.export import LogRecord
from ...core.history import place_of
from ...core.job import Action, Attempt, Count, Job, LogLine, Rule, WorkerInfo, history
from ...core.log_lines import loaded as loaded_fields, unpack
from ...core.states import BLOCKED
from ...core.updates import WARNED, Line
from . import header, record
from .record import STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .store import RedisStore

T = TypeVar("T", bound=tuple[Any, ...])

CHUNK = 500  # jobs read in one call, which blocks the server
MOST_BLOCKED = 10_000  # blocked jobs counted: the record of each tells its lane, and to read 100,000 keeps the server busy for 130 ms
BYTES = 8 << 20  # of texts in one reply, and one job more
LABELS = {letter: (state, "retrying" if letter == "s" else "") for letter, state in STATES.items()}
_JOBS: record.Rows[Job] = record.Rows(Job)


def get_many(store: RedisStore, ids: Sequence[str]) -> list[Job]:
    """Return those of the jobs that exist, in the order asked."""
    found: list[Job] = []
    while ids:
        looked, jobs = read(store, _JOBS, ids[:CHUNK])
        found += jobs
        ids = ids[looked:]
    return found


def read(store: RedisStore, rows: record.Rows[T], ids: Sequence[str]) -> tuple[int, list[T]]:
    """Read jobs, until their texts are many. Return how many of the ids were looked at, and the jobs that exist."""
    looked, found = store.server.run("get", [rows.request, BYTES, *ids])
    return looked, list(map(rows.read, found))


def find(store: RedisStore, prefix: str, limit: int) -> list[str]:
    """Return ids with this prefix, newest first."""
    found: list[str] = store.server.read("ZREVRANGEBYLEX", "ids", f"({prefix}~", f"[{prefix}", "LIMIT", 0, limit)
    return found


def result(store: RedisStore, job_id: str) -> str | None:
    """Return what a job returned, as JSON."""
    found: str | None = store.server.read("HGET", "result", job_id)
    return found


def checkpoint(store: RedisStore, job_id: str) -> str | None:
    """Return what a job last saved, as JSON."""
    found: str | None = store.server.read("HGET", "checkpoint", job_id)
    return found


def attempts(store: RedisStore, job_id: str) -> list[Attempt]:
    """Return every attempt: those on record, then the one that runs or that completed."""
    job = store.get(job_id)
    if job is None:
        return []
    lines, codes = store.server.on_keys([("LRANGE", f"attempt:{job_id}", 0, -1), ("HGETALL", f"codes:{job_id}")])
    return history(job, with_codes([Attempt(*json.loads(line)) for line in lines], codes))


def with_codes(attempts: Sequence[Any], codes: Sequence[str]) -> list[Any]:
    """Return attempts of one job, or their records, with the codes that a hash has by token."""
    by_token = dict(zip(map(int, codes[::2]), codes[1::2], strict=True))
    return [each._replace(code=by_token[each.token]) if each.token in by_token else each for each in attempts]


def logs(store: RedisStore, job_id: str, after: int, limit: int) -> list[LogLine]:
    """Return log lines in order."""
    found: list[LogLine] = []
    start, skipped = 0, 0
    while limit > 0 and len(found) < limit:
        members = store.server.read("ZRANGE", f"log:{job_id}", start, start + CHUNK - 1)
        lines = [line for member in members for line in log_lines(job_id, member)]
        found += [_line(line) for line in lines[max(after - skipped, 0) :]]
        start, skipped = start + CHUNK, skipped + len(lines)
        if len(members) < CHUNK:
            break
    return found[:limit]


def _line(line: LogRecord) -> LogLine:
    return LogLine(line.at, line.token, line.level, line.stage, line.message, loaded_fields(line.fields))


def log_lines(job_id: str, member: str) -> list[LogRecord]:
    """Return the lines of a member: token and number as eight hexadecimal digits each, then the rest. Of several lines, their number
    stands in place of the stage.
    """
    at, level, stage, message, fields = json.loads(member[16:])
    line = Line(int(member[8:16], 16), at, level, stage, message, fields)
    return [
        LogRecord(job_id, int(member[:8], 16), *each)
        for each in unpack(line, stage[0] if isinstance(stage, list) else None)
    ]


def warnings(store: RedisStore, since: int, limit: int, after: str | None = None) -> tuple[list[LogRecord], str | None]:
    """Return warnings and errors of the jobs that logged one last, these first, and where the next jobs begin."""
    found = store.server.run("warned", [since, limit, *(after or "").split()])
    lines = [
        line for id, members in zip(found[::3], found[2::3], strict=True) for m in members for line in log_lines(id, m)
    ]
    kept = [line for line in lines if line.level in WARNED and line.at >= since]
    return kept, f"{found[-2]} {found[-3]}" if len(found) == 3 * limit else None


def actions(store: RedisStore, job_id: str | None, limit: int) -> list[Action]:
    """Return what operators did, newest first."""
    return [action for _, action in _actions(store, limit, job_id or "", "")]


def audit(store: RedisStore, limit: int, before: int | None = None) -> list[tuple[int, Action]]:
    """Return lines of the audit trail before a number, newest first."""
    return _actions(store, limit, "", "" if before is None else before)


def _actions(store: RedisStore, *asked: int | str) -> list[tuple[int, Action]]:
    found = store.server.run("actions", list(asked))
    lines = [(number, json.loads(line)) for number, line in zip(found[::2], found[1::2], strict=True)]
    return [(number, Action(int(at), *rest)) for number, (at, *rest) in lines]


def counts(store: RedisStore, cap: int) -> list[Count]:
    """Count jobs by queue, type and label, up to `cap` of each state. The first chunk of each state is of one instant."""
    found: dict[str, list[Any]] = {}
    for rank in range(0, cap, CHUNK):
        places = store.server.run("counts", [min(CHUNK, cap - rank), rank])
        for letter, _, *sums in places:
            found.setdefault(letter, []).extend(sums)
        if all(looked < CHUNK for _, looked, *_ in places):
            break
    counted = [count for letter, sums in found.items() for count in _capped(LABELS[letter], sums, cap)]
    return counted + _blocked(store, min(cap, MOST_BLOCKED))


def _blocked(store: RedisStore, cap: int) -> list[Count]:
    """Count the blocked jobs by queue and type, line by line, up to `cap` in all."""
    sums, left = Counter[tuple[str, str]](), cap
    place: list[Any] = ["", 0]
    while place and left > 0:
        found, place = store.server.run("blocked", [min(CHUNK, left), *place])
        for lane, jobs in found:
            sums[header.of_lane(lane)] += jobs
            left -= jobs
    return [Count(*lane, BLOCKED, jobs, None, left <= 0) for lane, jobs in sums.items() if jobs]


def _capped(labels: tuple[str, str], found: list[Any], cap: int) -> list[Count]:
    """Add up the counts of one state by queue, type and label, up to `cap` jobs in all."""
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    left = cap
    for lane, again, jobs, oldest in found:
        key = (*header.of_lane(lane), labels[again])
        before, least = sums.get(key, (0, oldest))
        sums[key] = before + min(jobs, left), min(least, oldest)
        left -= min(jobs, left)
    return [Count(*key, jobs, oldest, left <= 0) for key, (jobs, oldest) in sums.items() if jobs]


def ended(store: RedisStore, since: int, limit: int, after: str | None = None) -> tuple[list[str], str | None]:
    """Return the jobs that ended last."""
    high, last = place_of(after, numbered=False) if after else ("+inf", "")
    found: list[tuple[int, str]] = []
    for letter in "cxd":
        found += _ended(store, f"ended:{letter}", since, limit, high, last)
    chosen = sorted(found, reverse=True)[:limit]
    return [job for _, job in chosen], f"{chosen[-1][0]}:{chosen[-1][1]}" if len(chosen) == limit else None


def _ended(store: RedisStore, key: str, since: int, limit: int, high: int | str, last: str) -> list[tuple[int, str]]:
    """Return jobs of one state in this order; those that ended at the same instant as the last one are read as a whole."""
    commands: list[tuple[Any, ...]] = [
        ("ZREVRANGEBYSCORE", key, f"({high}" if last else high, since, "WITHSCORES", "LIMIT", 0, limit)
    ]
    if last:
        commands.append(("ZREVRANGEBYSCORE", key, high, high, "WITHSCORES"))
    pairs = [
        (int(score), job)
        for flat in store.server.on_keys(commands)
        for job, score in zip(flat[::2], flat[1::2], strict=True)
    ]
    return [pair for pair in pairs if not last or pair < (int(high), last)]


def workers(store: RedisStore) -> list[WorkerInfo]:
    """Return registered workers, oldest first."""
    found = [_worker(row) for row in store.server.run("workers", [])]
    found.sort(key=lambda info: (info.started_at, info.id))
    registered: list[WorkerInfo] = store.local_workers.with_deaths(found)
    return registered


def _worker(row: list[Any]) -> WorkerInfo:
    worker, described, renewals, expires, running, _ = row
    host, pid, slots, queues, types = json.loads(described)
    started, renewed, *stopping = renewals.split()
    return WorkerInfo(
        worker, host, pid, slots, tuple(queues), tuple(types), int(started), int(renewed), int(float(expires)), running,
        stopping=bool(stopping),
    )  # fmt: skip


def rules(store: RedisStore, kinds: Sequence[str], name: str | None = None) -> list[Rule]:
    """Return the rules of these kinds, or those of one name."""
    names = sorted(set(kinds))
    if name is not None:
        texts = store.server.on_keys([("HGET", f"rule:{kind}", name) for kind in names])
        return [rule_of(kind, name, text) for kind, text in zip(names, texts, strict=True) if text]
    found = store.server.on_keys([("HGETALL", f"rule:{kind}") for kind in names])
    return [
        rule_of(kind, name, text)
        for kind, pairs in zip(names, found, strict=True)
        for name, text in sorted(zip(pairs[::2], pairs[1::2], strict=True))
    ]


def rule_of(kind: str, name: str, text: str) -> Rule:
    """Return a rule from its text."""
    return Rule(kind, name, **json.loads(text))
