"""Texts to vectors, in batches: `embed.register(app, embedder=model.embed, connect=…, spaces={"memories": Space("vectors")})`.

Tables and columns are the application's settings: a payload names them, and no part of a statement is made from it.
"""

from __future__ import annotations

import json
import math
import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, TypedDict

from mainstay import ConfigError, Permanent, ctx, transient
from mainstay.core.outcome import Signal
from mainstay.core.suggest import did_you_mean

from .database import Database, Rows, Space, check_names, is_out_of_reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Unpack

    from mainstay import Mainstay
    from mainstay.job_decorator import TypeOptions

    Embedder = Callable[[list[str]], Iterable[Iterable[float]]]
    Problems = list[tuple[int, int, str]]  # from an item's place up to another's, and what is wrong with those

__all__ = ["Embed", "Embedded", "Item", "NothingEmbedded", "Result", "Rows", "Space", "register"]
BATCH = 32
SHARE = 0.8  # of the progress that the batches are
SHOWN = 300  # characters of an error in the result
IDS = uuid.UUID("6f2b7c5e-0c1e-4a52-9d52-1b0a4f1d7c11")  # the namespace of ids that are made from a job and an item


class Item(TypedDict):
    """A text. Its vector is stored under `embedding_id`, or under an id that is made from the job and the item's place."""

    text: str
    source_id: NotRequired[str | int]
    embedding_id: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]


class Result(TypedDict):
    """What became of one item."""

    source_id: str | int | None
    embedding_id: str | None
    success: bool
    error: NotRequired[str]


class Embedded(TypedDict):
    """What became of all items, in their order."""

    total: int
    succeeded: int
    failed: int
    results: list[Result]


class NothingEmbedded(Exception):
    """Every batch has failed."""


class Embed:
    """The job types of this module."""

    def __init__(self, app: Mainstay, work: Work, options: TypeOptions) -> None:
        def embed(
            items: list[Item], namespace: str, update_table: str | None = None, update_column: str | None = None
        ) -> Embedded:
            """Store the vector of each text in a space, and its id in the row that the text is from."""
            space, column = work.space(namespace), work.column(update_table, update_column)
            given: list[Item] = [{"embedding_id": _id(place), **item} for place, item in enumerate(items)]
            return work.run(given, lambda batch: work.store(batch, space, column))

        def embed_rows(table: str, ids: list[str | int]) -> Embedded:
            """Store the vector of the text of each of these rows in the row."""
            rows = work.rows_of(table)
            return work.run([{"text": "", "source_id": each} for each in ids], lambda batch: work.fill(batch, rows))

        self.embed = app.job(**options)(embed)
        self.embed_rows = app.job(queue=self.embed.queue, name=f"{self.embed.name}_rows")(embed_rows)


def register(
    app: Mainstay, *, embedder: Embedder, connect: Callable[[], Any], spaces: Mapping[str, Space] | None = None,
    updates: Mapping[str, Sequence[str]] | None = None, rows: Mapping[str, Rows] | None = None,
    encode: Callable[[list[float]], Any] = json.dumps, batch: int = BATCH, **options: Unpack[TypeOptions],
) -> Embed:  # fmt: skip
    """Register `embed(items, namespace, update_table, update_column)` and `embed_rows(table, ids)`; `options` are those of any job type.

    `embedder` returns a vector for each of up to `batch` texts; several threads may call it at once. `connect` returns a DB-API connection
    to SQLite or PostgreSQL. `spaces` and `rows` are tables by the name that payloads use. `updates` has the columns, by table, that may get
    the id of a vector; the column `id` names the row. `encode` makes what is stored of a vector: JSON, which pgvector takes too.
    """
    if batch < 1 or not (spaces or rows):
        raise ConfigError("embed needs spaces= or rows=, the tables that jobs may name, and a batch of at least 1")
    _check_functions(embedder, connect)
    _check_kinds(spaces or {}, Space)
    _check_kinds(rows or {}, Rows)
    check_names(name for table in (*(spaces or {}).values(), *(rows or {}).values()) for name in table if name)
    check_names(name for table, columns in (updates or {}).items() for name in (table, *columns))
    return Embed(app, Work(embedder, connect, spaces or {}, updates or {}, rows or {}, encode, batch), options)


def _check_functions(embedder: object, connect: object) -> None:
    if not callable(embedder) or not callable(connect) or hasattr(connect, "cursor"):
        raise ConfigError(
            "embedder and connect are functions: embedder takes a list of texts and returns a vector for each, "
            'and connect opens a new connection each time: connect=lambda: sqlite3.connect("memory.db")'
        )


def _check_kinds(tables: Mapping[str, object], kind: type) -> None:
    for name, table in tables.items():
        if not isinstance(table, kind):
            raise ConfigError(f"{name}: {table!r:.80} is no {kind.__name__}: give {kind.__name__}(…)")


class Work(NamedTuple):
    """The settings, and what is done with them."""

    embedder: Embedder
    connect: Callable[[], Any]
    spaces: Mapping[str, Space]
    updates: Mapping[str, Sequence[str]]
    tables: Mapping[str, Rows]
    encode: Callable[[list[float]], Any]
    size: int

    # what a payload may name ----------------------------------------------------------------------------------------------
    def space(self, name: str) -> Space:
        """Return the space of this name; raise `Permanent` if there is none."""
        return self.spaces[_allowed("namespace", name, self.spaces)]

    def rows_of(self, name: str) -> Rows:
        """Return the table of this name; raise `Permanent` if there is none."""
        return self.tables[_allowed("table", name, self.tables)]

    def column(self, table: str | None, column: str | None) -> tuple[str, str] | None:
        """Return a table and its column that gets the ids of vectors; None if no one is asked for."""
        if table is None and column is None:
            return None
        columns = self.updates[_allowed("update_table", table or "", self.updates)]
        return str(table), _allowed("update_column", column or "", columns)

    # batches --------------------------------------------------------------------------------------------------------------
    def run(self, items: list[Item], do: Callable[[list[Item]], list[int]]) -> Embedded:
        """Do each batch that no attempt has done, and return what became of the items. `do` returns the places of those without a text."""
        problems: Problems = ctx.checkpoint.get("problems", [])
        batches = math.ceil(len(items) / self.size)
        for number in range(ctx.checkpoint.get("batches", 0), batches):
            ctx.progress(SHARE * number / batches, phase="embedding", batch=number + 1, batches=batches)
            start = number * self.size
            problems += self._tried(items[start : start + self.size], start, do)
            ctx.save(batches=number + 1, problems=problems)
        done = _embedded(items, problems)
        if items and not done["succeeded"]:
            ctx.save(batches=0, problems=[])
            raise NothingEmbedded(f"no text of {len(items)} could be embedded: {problems[0][2]}")
        ctx.progress(1.0, phase="complete")
        return done

    def _tried(self, batch: list[Item], start: int, do: Callable[[list[Item]], list[int]]) -> Problems:
        """Do a batch and return its problems. What is likely to pass is raised, as long as the job has attempts."""
        try:
            return [
                (start + place, start + place + 1, "there is no such row, or it has no text") for place in do(batch)
            ]
        except Signal:
            raise
        except Exception as error:
            if is_out_of_reach(error) or (transient(error) and ctx.attempt < ctx.max_attempts):
                raise
            said = f"{type(error).__name__}: {error}"[:SHOWN]
            ctx.log("a batch failed", level="warning", first=start, error=said)
            return [(start, start + len(batch), said)]

    def _vectors(self, texts: list[str]) -> list[Any]:
        """Return the vectors of some texts, as they are stored."""
        vectors = [list(map(float, vector)) for vector in self.embedder(texts)] if texts else []
        if len(vectors) != len(texts) or not all(vector and all(map(math.isfinite, vector)) for vector in vectors):
            raise ValueError(f"the embedder has not returned a vector of finite numbers for each of {len(texts)} texts")
        return [self.encode(vector) for vector in vectors]

    def store(self, batch: list[Item], space: Space, column: tuple[str, str] | None) -> list[int]:
        """Store the vectors of texts, and their ids in the rows that the texts are from, in one transaction."""
        vectors = self._vectors([item["text"] for item in batch])
        made = [
            (item["embedding_id"], vector, *([json.dumps(item.get("metadata", {}))] if space.metadata else []))
            for item, vector in zip(batch, vectors, strict=True)
        ]
        with closing(Database(self.connect())) as base:
            base.upsert(space, made)
            if column is not None:
                named = [(item["embedding_id"], item["source_id"]) for item in batch if "source_id" in item]
                base.update(*column, "id", named)
            base.commit()
        return []

    def fill(self, batch: list[Item], rows: Rows) -> list[int]:
        """Store the vectors of the texts of rows in the rows; return the places of those without a text."""
        ids = [item["source_id"] for item in batch]
        with closing(Database(self.connect())) as base:
            found = base.texts(rows, ids)
            base.commit()  # so that nothing is locked while the texts are embedded
            known = [each for each in ids if isinstance(found.get(str(each)), str)]
            vectors = self._vectors([found[str(each)] for each in known])
            base.update(rows.table, rows.vector, rows.id, list(zip(vectors, known, strict=True)))
            base.commit()
        return [place for place, each in enumerate(ids) if each not in known]


def _allowed(what: str, name: str, known: Iterable[str]) -> str:
    if name not in known:
        there = ", ".join(known) or "none"
        raise Permanent(f"{what} {name!r:.100} is not allowed{did_you_mean(name, known)}; allowed are: {there}")
    return name


def _id(place: int) -> str:
    """Return the id of an item's vector: the same on every attempt."""
    return str(uuid.uuid5(IDS, f"{ctx.id}:{place}"))


def _embedded(items: list[Item], problems: Problems) -> Embedded:
    said = {place: what for start, stop, what in problems for place in range(start, stop)}
    results = [_result(item, said.get(place)) for place, item in enumerate(items)]
    return Embedded(total=len(items), succeeded=len(items) - len(said), failed=len(said), results=results)


def _result(item: Item, said: str | None) -> Result:
    if said is not None:
        return Result(source_id=item.get("source_id"), embedding_id=None, success=False, error=said)
    return Result(source_id=item.get("source_id"), embedding_id=item.get("embedding_id"), success=True)
