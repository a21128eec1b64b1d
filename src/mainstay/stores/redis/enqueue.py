"""Accepting jobs: one script call for all drafts of a verb, so that all are accepted or none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from ...core.errors import DuplicateKey, TransactionUnsupported, UsageError
from ...core.ids import IDS
from . import header
from .record import STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.draft import Draft
    from .connect import Server
    from .store import RedisStore

MOST = 50_000  # drafts in one call: it blocks the server for some 15 microseconds each


def enqueue(store: RedisStore, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
    """Accept drafts. Return the id of each and whether it is new."""
    if len(drafts) > MOST:
        raise UsageError(f"{len(drafts)} jobs in one call: Redis takes up to {MOST} at once; enqueue them in parts")
    if not drafts:
        return []
    prepare(store.server, drafts, now)
    reply = store.server.run("enqueue", [store.engine_now(now), *flat(drafts)])
    if isinstance(reply, int):
        return [(draft.id, True) for draft in drafts]
    if reply[0] == "taken":
        _, number, holder, letter = reply
        draft, state = drafts[number - 1], STATES[letter]
        raise DuplicateKey(f"job {holder} ({state}) already has the key {draft.key!r} of type {draft.type}", holder)
    return [(draft.id, True) if found == 1 else (found, False) for draft, found in zip(drafts, reply, strict=True)]


def outbox(_store: RedisStore) -> NoReturn:
    """Refuse `tx=`, and name the alternatives."""
    raise TransactionUnsupported(
        "tx= cannot be used here: Redis shares no transaction with a database, so a job cannot commit with your data. "
        "Commit first and enqueue after it, with key= so that doing it twice makes one job; or keep the jobs where the data "
        "is: a postgresql:// or sqlite:// store takes tx=."
    )


def prepare(server: Server, drafts: Sequence[Draft], now: int) -> None:
    """Give each draft its id, its time and, where its producer lacks the type, the policy that a worker registered."""
    for draft in drafts:
        if not draft.id:
            draft.id = IDS.new(now)
        if not draft.created_at:
            draft.created_at = now
    undeclared = [draft for draft in drafts if draft.undeclared is not None]
    if not undeclared:
        return
    names = list(dict.fromkeys(draft.type for draft in undeclared))
    found = dict(zip(names, server.read("HMGET", "type", *names), strict=True))
    for draft in undeclared:
        draft.follow(json.loads(found[draft.type])["policy"] if found[draft.type] else {})


def flat(drafts: Sequence[Draft]) -> list[Any]:
    """Return drafts as the scripts take them: eight values each (statements/parts/draft.lua)."""
    values: list[Any] = []
    for draft in drafts:
        lane, text = header.write(draft)
        timeout, keep = draft.timeout, draft.keep
        plain = text[-1] == "\n" and draft.run_at is None and draft.lock is None  # and no terms: the last line is empty
        values += (
            draft.id, lane, draft.priority, "" if timeout is None else timeout, "" if keep is None else keep,
            draft.payload, text, "" if plain else _extra(draft),
        )  # fmt: skip
    return values


def _extra(draft: Draft) -> str:
    """Return the values that most drafts lack."""
    found: dict[str, Any] = {"run_at": draft.run_at, "lock": draft.lock, "terms": header.terms(draft) or None}
    if draft.lock is not None:
        found["until"] = draft.lock_until
        found["on"] = None if draft.on_conflict == "existing" else draft.on_conflict
    return header.dumps({name: value for name, value in found.items() if value is not None})
