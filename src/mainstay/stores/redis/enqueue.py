"""Accepting jobs: one script call for all drafts of a verb, so that all are accepted or none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from ...core.errors import MainstayError, NotFound, TransactionUnsupported, UsageError
from ...core.ids import IDS
from ...core.keys import FOREVER, GONE, taken
from . import header, script
from .record import STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.draft import Draft
    from .connect import Server
    from .ruled import RulesKnown
    from .store import RedisStore

STRIDE = 8  # values of a draft; the last one has those that most lack
MOST = 50_000  # drafts in one call: it blocks the server for some 15 microseconds each


def enqueue(store: RedisStore, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
    """Accept drafts. Return the id of each and whether it is new."""
    if len(drafts) > MOST:
        raise UsageError(f"{len(drafts)} jobs in one call: Redis takes up to {MOST} at once; enqueue them in parts")
    if not drafts:
        return []
    prepare(store.server, drafts, now)
    reply = sent(store, drafts, now)
    if isinstance(reply, int):
        return [(draft.id, True) for draft in drafts]
    reply = accepted(reply, drafts)
    return [(draft.id, True) if found == 1 else (found, False) for draft, found in zip(drafts, reply, strict=True)]


def accepted(reply: list[Any], drafts: Sequence[Draft]) -> list[Any]:
    """Return a reply of a script that accepts drafts, or raise if it refused one."""
    if reply[0] == "taken":
        _, number, holder, letter = reply
        raise taken(drafts[number - 1], holder, STATES.get(letter, GONE))
    if reply[0] == "missing":
        raise NotFound(f"after: there is no job {reply[1]}; give jobs that are enqueued already")
    return reply


def sent(store: RedisStore, drafts: Sequence[Draft], now: int, name: str = "enqueue", asked: Sequence[Any] = ()) -> Any:
    """Send drafts to a script, behind what it is asked, each as the rules of its type and queue want it.

    Again if those have changed meanwhile.
    """
    while True:
        rules = store.rules_known
        ready = drafts if rules is None else _followed(store, rules, drafts)
        if ready is None:
            continue
        values = [store.engine_now(now), "0" if rules is None else rules.version, *asked, *flat(ready)]
        ruled = script.RULED if name in script.HOT and (rules is not None or _ruled(ready, values)) else ""
        reply = store.server.run(name + ruled, values)
        if reply == ["rules"]:
            reply = store.server.run(name + script.RULED, values)
        if isinstance(reply, int) or reply[0] not in ("rules", "full"):
            return reply
        from .ruled import RulesKnown, rules_of

        if reply[0] == "full":
            raise (rules or rules_of(store.server)).refusal(ready, *reply[1:])
        store.rules_known = RulesKnown(*reply[1:])


def _ruled(drafts: Sequence[Draft], values: list[Any]) -> bool:
    """Return whether drafts, sent as these values, need the variant of the script for rules."""
    if not any(values[1 + STRIDE :: STRIDE]):  # nearly always: no draft has a value that most lack
        return False
    return any(
        draft.rules is not None or draft.start_by is not None or draft.on_conflict == "replace" for draft in drafts
    )


def _followed(store: RedisStore, rules: RulesKnown, drafts: Sequence[Draft]) -> Sequence[Draft] | None:
    """Return drafts as these rules want them; None if they refuse one, and are no longer those of the store."""
    from .ruled import rules_of

    try:
        return rules.followed(drafts)
    except MainstayError:
        store.rules_known = rules_of(store.server)
        if store.rules_known.version == rules.version:
            raise
        return None


def outbox(_store: RedisStore) -> NoReturn:
    """Refuse `tx=`, and name the alternatives."""
    raise TransactionUnsupported(
        "tx= cannot be used here: Redis shares no transaction with a database, so a job cannot commit with your data. "
        "Commit first and enqueue after it, with key= so that doing it twice makes one job; or keep the jobs where the data "
        "is: a postgresql:// or sqlite:// store takes tx=."
    )


def prepare(server: Server, drafts: Sequence[Draft], now: int) -> None:
    """Give each draft its id, its time and, where its producer lacks the type, the policy that a worker registered."""
    IDS.give(drafts, now)
    undeclared = [draft for draft in drafts if draft.undeclared is not None]
    if not undeclared:
        return
    names = list(dict.fromkeys(draft.type for draft in undeclared))
    found = dict(zip(names, server.read("HMGET", "type", *names), strict=True))
    for draft in undeclared:
        draft.follow(json.loads(found[draft.type])["policy"] if found[draft.type] else {})


def prepared_children(server: Server, drafts: Sequence[Draft], now: int) -> Sequence[Draft]:
    """Return the children of a job as they are sent: nobody can be told that a type or queue takes no jobs."""
    prepare(server, drafts, now)
    if server.read("GET", "ruled") is None:
        return drafts
    from .ruled import rules_of

    return rules_of(server).followed(drafts, lenient=True)


def flat(drafts: Sequence[Draft]) -> list[Any]:
    """Return drafts as the scripts take them: eight values each (statements/parts/draft.lua)."""
    values: list[Any] = []
    for draft in drafts:
        lane, text = header.write(draft)
        timeout, keep = draft.timeout, draft.keep
        plain = text[-1] == "\n" and draft.run_at is None and draft.lock is None  # and no terms: the last line is empty
        plain = plain and draft.rules is None and draft.start_by is None
        values += (
            draft.id, lane, draft.priority, "" if timeout is None else timeout, "" if keep is None else keep,
            draft.payload, text, "" if plain else _extra(draft),
        )  # fmt: skip
    return values


def _extra(draft: Draft) -> str:
    """Return the values that most drafts lack."""
    found: dict[str, Any] = {
        "run_at": draft.run_at, "lock": draft.lock, "terms": header.terms(draft) or None, "rules": draft.rules, "waits": draft.waits,
        "start_by": draft.start_by, "after": list(dict.fromkeys(draft.after)) or None,
    }  # fmt: skip
    if draft.lock is not None:
        found["until"] = None if draft.lock_until == FOREVER else draft.lock_until
        found["since"] = draft.created_at if draft.lock_until == FOREVER else None  # it takes the key for ever
        found["on"] = None if draft.on_conflict == "existing" else draft.on_conflict
    return header.dumps({name: value for name, value in found.items() if value is not None})
