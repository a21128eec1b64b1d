"""What a job was asked to be, as text beside its record: three lines that scripts pass on without reading them.

The head (type, queue, priority and policy) is the same for most jobs of a type: it is written and read once and kept. Then
the origin (when it was made, its parent), and what most jobs do without (key, tenant, ref, tags).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ...core.draft import Draft

KEPT = 10_000  # heads
_written: dict[tuple[Any, ...], tuple[str, str]] = {}
_read: dict[str, Head] = {}


class Head(NamedTuple):
    """The policy of a job."""

    type: str
    queue: str
    priority: int
    max_attempts: int
    timeout: int | None
    keep: int | None
    backoff: str | None


class Meta(NamedTuple):
    """All that was asked, but the payload."""

    head: Head
    created_at: int
    parent: str | None
    key: str | None
    tenant: str | None
    ref: str | None
    tags: tuple[str, ...]


def dumps(value: Any) -> str:
    """JSON as short as it gets; what UTF-8 cannot hold fails when it is sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def lane(queue: str, type: str) -> str:
    """Where queued jobs of a type wait: the length keeps names with colons apart."""
    return f"{len(queue.encode())}:{queue}:{type}"


def of_lane(lane: str) -> tuple[str, str]:
    """The queue and the type of a lane."""
    length, _, rest = lane.partition(":")
    raw = rest.encode()
    return raw[: int(length)].decode(), raw[int(length) + 1 :].decode()


def write(draft: Draft) -> tuple[str, str]:
    """The lane and the meta of a draft."""
    policy = (draft.type, draft.queue, draft.priority, draft.max_attempts, draft.timeout, draft.keep, draft.backoff)
    known = _written.get(policy)
    if known is None:
        if len(_written) >= KEPT:
            _written.clear()
        known = _written[policy] = (lane(draft.queue, draft.type), dumps(policy))
    if draft.parent is None and draft.key is None and draft.tenant is None and draft.ref is None and not draft.tags:
        return known[0], f"{known[1]}\n{draft.created_at}\n"
    parent = "" if draft.parent is None else " " + dumps(draft.parent)
    return known[
        0
    ], f"{known[1]}\n{draft.created_at}{parent}\n{dumps((draft.key, draft.tenant, draft.ref, draft.tags))}"


def head(text: str) -> Head:
    """A head, from its line."""
    found = _read.get(text)
    if found is None:
        if len(_read) >= KEPT:
            _read.clear()
        found = _read[text] = Head._make(json.loads(text))
    return found


def read(text: str) -> Meta:
    """The meta of a job."""
    first, origin, rare = text.split("\n")
    created, _, parent = origin.partition(" ")
    key, tenant, ref, tags = json.loads(rare) if rare else (None, None, None, ())
    return Meta(head(first), int(created), json.loads(parent) if parent else None, key, tenant, ref, tuple(tags))


def term(kind: str, value: str) -> str:
    """What a job is found by, k(ey), t(enant), r(ef), p(arent) or #(tag), as it stands in the index before the job's id."""
    if "\0" in value or "\1" in value:  # no value may look like another with an id behind it
        value = value.replace("\1", "\1\2").replace("\0", "\1\1")
    return f"{kind}{value}\0"


def terms(draft: Draft) -> list[str]:
    """All that a job is found by."""
    pairs = [("k", draft.key), ("t", draft.tenant), ("r", draft.ref), ("p", draft.parent)]
    pairs += [("#", tag) for tag in dict.fromkeys(draft.tags)]
    return [term(kind, value) for kind, value in pairs if value is not None]
