"""Changes of jobs that wait or have ended: another queue, priority, time or payload. `core/change.py` decides what follows.

What becomes of a job is decided here, by what was read; the script writes it if the job is still the same, and else it is read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.bulk import NOTE, bulk_for
from ...core.change import STALE, Altered, Standing, altered, refusal
from ...core.draft import Draft
from ...core.errors import refuse_nul
from ...core.export import JobRecord
from . import header, record
from .actions import changed
from .checks import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...core.bulk import Bulk
    from ...core.change import Edit, Wish
    from ...core.search_terms import Term
    from .store import RedisStore

CHUNK = 500  # jobs read in one call
COPIED = (*header.POLICY, "created_at", "parent", *header.RARE, *header.OTHERS)
WITH_PAYLOAD: record.Rows[JobRecord] = record.Rows(JobRecord, *UNSEEN)
WITHOUT_PAYLOAD: record.Rows[JobRecord] = record.Rows(JobRecord, "payload", *UNSEEN)
ANY = {"digests": True, "attempts": False, "codes": False, "types": [], "states": ""}  # of the script `candidates`


def change(
    store: RedisStore, ids: Sequence[str], now: int, actor: str, wish: Wish, terms: Sequence[Term] = (),
    bulk: Bulk | None = None, note: str = "",
) -> dict[str, str]:  # fmt: skip
    """Change jobs that do not run; return what became of each."""
    refuse_nul(note=note)

    def wanted(digests: dict[str, str]) -> list[str]:
        of_queues = _queue_rules(store, wish)
        found = _read(store, digests, wish)
        return [
            header.dumps(_wanted(wish, found[job], of_queues, now, note)) if job in found else "{}" for job in digests
        ]

    return changed(store, "change", ids, now, actor, terms, bulk_for(ids, bulk), wanted)


def _read(store: RedisStore, digests: dict[str, str], wish: Wish) -> dict[str, JobRecord]:
    """Return jobs, and fill in the digests where none was given."""
    rows, ids, found = WITHOUT_PAYLOAD if wish.edits is None else WITH_PAYLOAD, list(digests), {}
    request = header.dumps(rows.shape | ANY)
    for start in range(0, len(ids), CHUNK):
        for *values, _, _, digest in store.server.run("candidates", [request, *ids[start : start + CHUNK]]):
            job = found[values[0]] = rows.read(values)
            digests[job.id] = digests[job.id] or digest
    return found


def _queue_rules(store: RedisStore, wish: Wish) -> Mapping[str, Mapping[str, Any]]:
    if (wish.queue is None and wish.priority is None) or store.server.read("GET", "ruled") is None:
        return {}
    from .ruled import rules_of

    return rules_of(store.server).queues


def _wanted(
    wish: Wish, job: JobRecord, of_queues: Mapping[str, Mapping[str, Any]], now: int, note: str
) -> dict[str, Any]:
    """Return what the script is to do with a job."""
    edit = (wish.edits or {}).get(job.id)
    stale = edit is not None and edit.was != job.payload
    refused = refusal(wish, job.id, job.state) or (STALE if stale else None)
    if refused:
        return {"refused": refused}
    standing = Standing(*(getattr(job, name) for name in Standing._fields))
    of_queue = of_queues.get(wish.queue or job.queue, {})
    result = altered(wish, standing, job.type, job.state, edit, of_queue, now)
    return {"refused": result} if isinstance(result, str) else _written(wish, job, result, edit, note)


def _written(wish: Wish, job: JobRecord, result: Altered, edit: Edit | None, note: str) -> dict[str, Any]:
    copied = {name: getattr(job, name) for name in COPIED if name != "type"}
    copied |= {"queue": result.now.queue, "priority": result.now.priority}
    made: dict[str, Any] = {
        "action": wish.action,
        "detail": result.detail | ({NOTE: note} if note else {}),
        "waits": result.waits,
    }
    made |= {name: getattr(result.now, name) for name in ("priority", "ord")}
    made |= {name: value for name in ("run_at", "rules") if (value := getattr(result.now, name)) is not None}
    if edit is not None:
        made["payload"] = edit.payload
        copied["key"] = edit.key or job.key
        if edit.key and job.key is not None and edit.key != job.key:
            made |= {"name": edit.key, "lock": _lock(job, edit.key)}
            made["terms"] = [header.term("k", key) for key in (job.key, edit.key)]
    made["lane"], made["header"] = header.write(Draft(job.type, "", **copied))
    return made


def _lock(job: JobRecord, key: str) -> str:
    """Return the lock for another key: as long as the one that the job has."""
    return f"{job.type}:{key}{(job.lock or '').removeprefix(f'{job.type}:{job.key}')}"
