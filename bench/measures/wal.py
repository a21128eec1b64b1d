"""The bytes that a job writes to the write-ahead log: enqueued by one call, claimed, completed. Replicas and backups carry them.

The tables exist and a checkpoint has just been made, so full page images (`full_page_writes` is on) are of pages that existed
before; the report gives their number. The figure includes what the server's maintenance writes meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..processes import Workers, produce

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..engines import Site
    from ..scale import Scale
    from . import Figures, Place


class Log(NamedTuple):
    """The position in the log, and the number of full page images so far."""

    position: int
    images: int


def wal(contender: Contender, scale: Scale, place: Place) -> Figures:
    """Bytes a job from its enqueue to its completion, in two parts."""
    site, jobs = place.site(contender), scale.wal
    produce(contender, site, "wake")
    place.engine.flush(site)
    before = _log(site)
    produce(contender, site, "ones", jobs)
    enqueued = _log(site)
    with Workers(contender, site, 1, jobs + 1) as workers:
        workers.run(jobs + 1)
        workers.completed(jobs + 1)
        ended = _log(site)
        workers.stop()
        counts = (workers.marks.executions(), workers.marks.distinct(), contender.count(site.address).completed)
    place.engine.discard(site)
    return (
        _bytes(before, enqueued, ended, jobs)
        | dict(zip(("executions", "distinct", "completed"), counts, strict=True))
        | {"expected": jobs + 1, "ok": set(counts) == {jobs + 1}}
    )


def _bytes(before: Log, enqueued: Log, ended: Log, jobs: int) -> Figures:
    return {
        "wal": (ended.position - before.position) / jobs,
        "wal_enqueue": (enqueued.position - before.position) / jobs,
        "wal_run": (ended.position - enqueued.position) / jobs,
        "images": float(ended.images - before.images),
    }


def _log(site: Site) -> Log:
    import psycopg

    with psycopg.connect(site.address, autocommit=True) as connection:
        row = connection.execute(
            "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, (SELECT wal_fpi FROM pg_stat_wal)"
        ).fetchone()
    assert row is not None
    return Log(*row)
