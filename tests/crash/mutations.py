"""Known-bad variants of the code, patched in from outside: the tools must catch each of them, or they prove nothing."""

from __future__ import annotations

from typing import Any

FORGOTTEN = 5  # every so manieth acknowledgement of a forgetful store is a lie


def unfenced() -> None:
    """Any attempt ends a running job, whoever holds it by now; on whatever engine."""
    from mainstay.stores.postgres.dialect import PostgresDialect
    from mainstay.stores.redis import script
    from mainstay.stores.sqlite import sql

    sql._cache["finish"] = without(sql.load("finish"), "AND token = :token AND worker = :worker", "AND :token > 0")
    template, text = PostgresDialect.template, script._text

    def statement(dialect: Any, name: str) -> str:
        found: str = template(dialect, name)
        return (
            without(found, "AND j.worker = g.worker AND j.token = g.token", "AND j.worker IS NOT NULL")
            if name == "finish"
            else found
        )

    def part(path: str) -> str:
        if not path.endswith("outcome.lua"):
            return text(path)
        return without(without(text(path), "r[TOKEN] ~= token or", ""), "r[WORKER] ~= worker", "false")

    PostgresDialect.template, script._text = statement, part  # type: ignore[method-assign]


def without(text: str, guard: str, instead: str) -> str:
    """A statement without its guard."""
    if guard not in text:
        raise RuntimeError(f"a statement has no {guard!r}: mutations.py no longer knows it")
    return text.replace(guard, instead)


def forgetful() -> None:
    """Some enqueues are acknowledged and never written."""
    from mainstay.stores.sqlite import enqueue

    real, calls = enqueue.enqueue, iter(range(1, 1_000_000))

    def forget(store: Any, drafts: Any, now: int) -> Any:
        lie = next(calls) % FORGOTTEN == 0
        return [(draft.id, True) for draft in drafts] if lie else real(store, drafts, now)

    enqueue.enqueue = forget


def piecemeal() -> None:
    """Every statement is committed by itself."""
    from mainstay.stores.sqlite.connect import Database

    write = Database.write

    def written(db: Any, work: Any) -> Any:
        def apart(connection: Any) -> Any:
            connection.execute("COMMIT")
            try:
                return work(connection)
            finally:
                connection.execute("BEGIN IMMEDIATE")

        return write(db, apart)

    Database.write = written  # type: ignore[method-assign]


VARIANTS = {"": lambda: None, "unfenced": unfenced, "forgetful": forgetful, "piecemeal": piecemeal}


def apply(name: str) -> None:
    """Break this process's copy of the code in the named way; the empty name breaks nothing."""
    VARIANTS[name]()
