"""What can be seen of jobs, workers and the server: bounded reads of an index, never a look at all keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core.job import Action, Attempt, Count, Job, LogLine, WorkerInfo, history
from . import header, schema
from .state_codes import STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .connect import Server

CHUNK = 500  # jobs looked at in one call: others wait meanwhile
LABELS = {"s": ("scheduled", "retrying"), "r": ("running", ""), "v": ("review", ""), "d": ("dead", "")}


def get_many(server: Server, ids: Sequence[str]) -> list[Job]:
    """Those of the jobs that exist, in the order asked."""
    found = []
    for start in range(0, len(ids), CHUNK):
        found += [job(row) for row in server.run("get", ids[start : start + CHUNK])]
    return found


def job(row: list[Any]) -> Job:
    """A job from its row (statements/get.lua)."""
    (
        job_id, letter, token, attempt, crashes, worker, run_at, started, finished, expires, cancel, reason, text, payload,
        progress, error,
    ) = row  # fmt: skip
    asked = header.read(text)
    head = asked.head
    done, total, stage = json.loads(progress) if progress else (None, None, None)
    return Job(
        job_id, head.type, head.queue, STATES[letter], head.priority, payload, attempt, head.max_attempts, crashes, token,
        worker, asked.created_at, run_at, started, finished, expires, cancel, head.timeout, head.keep, head.backoff, reason,
        asked.key, asked.tenant, asked.ref, asked.tags, asked.parent, _real(done), _real(total), stage, error,
    )  # fmt: skip


def _real(value: float | None) -> float | None:
    return None if value is None else float(value)


def find(server: Server, prefix: str, limit: int) -> list[str]:
    """Ids that start so, newest first."""
    found: list[str] = server.read("ZREVRANGEBYLEX", "ids", f"({prefix}~", f"[{prefix}", "LIMIT", 0, limit)
    return found


def text(server: Server, hash: str, job_id: str) -> str | None:
    """The one text that a hash holds of a job."""
    found: str | None = server.read("HGET", hash, job_id)
    return found


def attempts(server: Server, job: Job) -> list[Attempt]:
    """Every attempt: those on record, then the one that runs or that completed."""
    found = [Attempt._make(json.loads(line)) for line in server.read("LRANGE", f"attempt:{job.id}", 0, -1)]
    return history(job, found)


def logs(server: Server, job_id: str, after: int, limit: int) -> list[LogLine]:
    """Log lines in order."""
    if limit < 1:
        return []
    return [_line(member) for member in server.read("ZRANGE", f"log:{job_id}", after, after + limit - 1)]


def _line(member: str) -> LogLine:
    """A line from its member: token and number as eight hexadecimal digits each, then the rest."""
    at, level, stage, message, fields = json.loads(member[16:])
    return LogLine(at, int(member[:8], 16), level, stage, message, json.loads(fields) if fields else {})


def actions(server: Server, job_id: str | None, limit: int) -> list[Action]:
    """What operators did, newest first."""
    found = [json.loads(line) for line in server.run("actions", [limit, job_id or ""])]
    return [Action(int(at), actor, action, job, detail) for at, actor, action, job, detail in found]


def counts(server: Server, cap: int) -> list[Count]:
    """Jobs by type and label, each state looked at up to `cap`. What is in one chunk of each is of one instant."""
    if cap < 1:
        return []
    queued, *looks = server.run("counts", [min(CHUNK, cap), 0])
    found = {"q": [(header.of_lane(lane)[1], "queued", n, oldest) for lane, n, oldest in queued]}
    for place, looked, *sums in looks:
        letter, more = place[0], _beyond(server, place, looked, cap) if looked == CHUNK else []
        found.setdefault(letter, []).extend(
            (header.of_lane(lane)[1], LABELS[letter][again], n, oldest) for lane, again, n, oldest in [*sums, *more]
        )
    return [count for rows in found.values() for count in _capped(rows, cap)]


def _beyond(server: Server, place: str, rank: int, cap: int) -> list[Any]:
    """The counts of one place from a rank on, chunk by chunk."""
    found: list[Any] = []
    while rank < cap:
        _, (_, looked, *sums) = server.run("counts", [min(CHUNK, cap - rank), rank, place])
        found += sums
        rank += looked
        if looked < CHUNK:
            break
    return found


def _capped(rows: list[tuple[str, str, int, int]], cap: int) -> list[Count]:
    """Rows of the same type and label as one, and no more jobs in all than the cap."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    left = cap
    for type, label, found, oldest in rows:
        jobs = min(found, left)
        left -= jobs
        before, least = sums.get((type, label), (0, oldest))
        sums[type, label] = before + jobs, min(least, oldest)
    return [Count(*key, jobs, oldest, left <= 0) for key, (jobs, oldest) in sums.items() if jobs]


def throughput(server: Server, since: int, cap: int) -> dict[str, int]:
    """How many jobs ended in each state since then, counted by their index alone."""
    letters = "cxd"
    found = server.commands([("ZCOUNT", f"{server.prefix}ended:{letter}", since, "+inf") for letter in letters])
    ended: dict[str, int] = {}
    for letter, count in zip(letters, found, strict=True):
        jobs = min(count, cap - sum(ended.values()))
        if jobs:
            ended[STATES[letter]] = jobs
    return ended


def workers(server: Server) -> list[WorkerInfo]:
    """Registered workers, oldest first."""
    found = [_worker(row) for row in server.run("workers", [])]
    return sorted(found, key=lambda info: (info.started_at, info.id))


def _worker(row: list[Any]) -> WorkerInfo:
    worker, said, beats, expires, running = row
    host, pid, slots, queues, types = json.loads(said)
    started, beaten, *stopping = beats.split()
    return WorkerInfo(
        worker,
        host,
        pid,
        slots,
        tuple(queues),
        tuple(types),
        int(started),
        int(beaten),
        int(float(expires)),
        running,
        stopping=bool(stopping),
    )


# The server -----------------------------------------------------------------------------------------------------------
def diagnostics(server: Server) -> dict[str, str]:
    """What `doctor` prints about this store."""
    *found, info = server.commands([*schema.reading(server.prefix), ("INFO",)])
    version, readable_from, _ = schema.versions(found)
    info = schema.parsed(info)
    settings = _settings(server)
    return {
        "engine": _engine(info),
        "server": server.shown,
        "prefix": server.prefix,
        "schema": str(version),
        "readable from": str(readable_from),
        "appendonly": settings.get("appendonly", "unknown"),
        "appendfsync": settings.get("appendfsync", "unknown"),
        "durability": _durability(settings, info),
        "maxmemory": {"0B": "no limit"}.get(
            info.get("maxmemory_human", "unknown"), info.get("maxmemory_human", "unknown")
        ),
        "maxmemory-policy": info.get("maxmemory_policy", "unknown"),
        "role": info.get("role", "unknown"),
        "size": info.get("used_memory", "0"),
    }


def _engine(info: dict[str, str]) -> str:
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info.get('redis_version', '')}"


def _settings(server: Server) -> dict[str, str]:
    """What the server says of its append-only file; nothing where it may not be asked."""
    from ...core.errors import StoreError

    try:
        names = [server.command("CONFIG", "GET", name) for name in ("appendonly", "appendfsync")]
    except StoreError:  # managed servers refuse CONFIG
        return {}
    return {pair[0]: pair[1] for pair in names if pair}


def _durability(settings: dict[str, str], info: dict[str, str]) -> str:
    """How much an accepted job survives, by the settings; by INFO alone where the settings may not be read."""
    on = settings.get("appendonly") or {"1": "yes", "0": "no"}.get(info.get("aof_enabled", ""), "")
    if on == "no":
        return "none: without an append-only file a restart loses what came after the last snapshot; set appendonly yes"
    if on != "yes" or not settings:
        return "unknown: the server does not tell its settings (CONFIG is refused); ask who runs it for appendfsync"
    if settings.get("appendfsync") == "always":
        return (
            "power cut: an accepted job is on the server's disk when enqueue returns; a failover may lose the last ones"
        )
    if settings.get("appendfsync") == "everysec":
        return "process crash: a power cut can lose up to a second of accepted jobs; for less set appendfsync always"
    return "process crash: a power cut loses what the system had not written; set appendfsync always or everysec"
