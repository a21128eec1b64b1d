"""Accepting jobs: one script call for all drafts of a verb, so that all are accepted or none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core.errors import DuplicateKey, UsageError
from ...core.ids import IDS
from . import header
from .state_codes import STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.draft import Draft
    from .connect import Server

MOST = 50_000  # drafts in one call: the server does nothing else meanwhile, some 15 microseconds each
_NONE: tuple[Any, ...] = (None,) * 6


def enqueue(server: Server, drafts: Sequence[Draft], now: int, judged: int | str) -> list[tuple[str, bool]]:
    """Accept drafts; per draft its id and whether it is new."""
    if len(drafts) > MOST:
        raise UsageError(f"{len(drafts)} jobs in one call: Redis takes up to {MOST} at once; enqueue them in parts")
    if not drafts:
        return []
    prepare(server, drafts, now)
    answer = server.run("enqueue", [judged, *flat(drafts)])
    if isinstance(answer, int):
        return [(draft.id, True) for draft in drafts]
    if answer[0] == "taken":
        raise _taken(drafts[answer[1] - 1], answer[2], STATES[answer[3]])
    return [(draft.id, True) if found == 1 else (found, False) for draft, found in zip(drafts, answer, strict=True)]


def _taken(draft: Draft, existing: str, state: str) -> DuplicateKey:
    return DuplicateKey(f"job {existing} ({state}) already has the key {draft.key!r} of type {draft.type}", existing)


def prepare(server: Server, drafts: Sequence[Draft], now: int) -> None:
    """Give each draft its id, its instant and, where its producer lacks the type, the policy that a worker declared."""
    for draft in drafts:
        if not draft.id:
            draft.id = IDS.new(now)
        if not draft.created_at:
            draft.created_at = now
    strangers = [draft for draft in drafts if draft.undeclared is not None]
    if strangers:
        _follow_declarations(server, strangers)


def _follow_declarations(server: Server, drafts: Sequence[Draft]) -> None:
    names = list(dict.fromkeys(draft.type for draft in drafts))
    found = dict(zip(names, server.read("HMGET", "type", *names), strict=True))
    for draft in drafts:
        draft.follow(json.loads(found[draft.type])["policy"] if found[draft.type] else {})


def flat(drafts: Sequence[Draft]) -> list[Any]:
    """Drafts as the scripts take them: eight values each (statements/parts/draft.lua)."""
    values: list[Any] = []
    for draft in drafts:
        lane, text = header.write(draft)
        timeout, keep = draft.timeout, draft.keep
        values += (
            draft.id, lane, draft.priority, "" if timeout is None else timeout, "" if keep is None else keep,
            draft.payload, text, _extra(draft),
        )  # fmt: skip
    return values


def _extra(draft: Draft) -> str:
    """What most drafts do without."""
    if not draft.tags and (draft.run_at, draft.lock, draft.key, draft.tenant, draft.ref, draft.parent) == _NONE:
        return ""
    found: dict[str, Any] = {"run_at": draft.run_at, "lock": draft.lock, "terms": header.terms(draft) or None}
    if draft.lock is not None:
        found["until"] = draft.lock_until
        found["on"] = None if draft.on_conflict == "existing" else draft.on_conflict
    return header.dumps({name: value for name, value in found.items() if value is not None})
