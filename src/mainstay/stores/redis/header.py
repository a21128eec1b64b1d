"""What a job was asked to be, as text in its record: three lines, which the scripts pass on.

The policy line (type, queue, priority, …) is the same for most jobs of a type: it is written and read once and cached. The
origin line has the time of creation and the parent. The last line has what most jobs lack, and is empty for those.
"""

from __future__ import annotations

import json
from functools import lru_cache
from operator import attrgetter
from typing import Any

from ...core.draft import Draft
from ...core.export import JobRecord

POLICY = ("type", "queue", "priority", "max_attempts", "timeout", "keep", "backoff")
RARE = ("key", "tenant", "ref", "tags")
TERMS = {
    "key": "k",
    "tenant": "t",
    "ref": "r",
    "parent": "p",
    "tags": "#",
    "schedule": "s",
}  # searched by an index, each under a letter
_ELSEWHERE = {
    "id",
    "payload",
    "run_at",
    "lock",
    "lock_until",
    "created_at",
    "parent",
    *POLICY,
    *RARE,
    "rules",
    "waits",
    "start_by",
}
# Other columns of a job that a draft has: by name, in an object behind the rare ones. A new column needs no line here.
OTHERS = tuple(name for name in JobRecord._fields if name in Draft.__slots__ and name not in _ELSEWHERE)

CACHED = 10_000  # policy lines


def dumps(value: Any) -> str:
    """Return JSON without spaces. Text that UTF-8 cannot encode fails when it is sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def lane(queue: str, type: str) -> str:
    """Return the lane in which queued jobs of a type wait. The length keeps names with colons apart."""
    return f"{len(queue.encode())}:{queue}:{type}"


def of_lane(lane: str) -> tuple[str, str]:
    """Return the queue and the type of a lane."""
    length, _, rest = lane.partition(":")
    raw = rest.encode()
    return raw[: int(length)].decode(), raw[int(length) + 1 :].decode()


_policy, _unusual = attrgetter(*POLICY), attrgetter("parent", *RARE, *OTHERS)
_USUAL = _unusual(Draft("", ""))
_DEFAULTS = dict(zip(("parent", *RARE, *OTHERS), _USUAL, strict=True))


def write(draft: Draft) -> tuple[str, str]:
    """Return the lane and the header of a draft."""
    place, policy = _written(_policy(draft))
    unusual = _unusual(draft)
    last = "\n" if unusual == _USUAL else _last_lines(*unusual)
    return place, f"{policy}\n{draft.created_at}{last}"


@lru_cache(CACHED)
def _written(policy: tuple[Any, ...]) -> tuple[str, str]:
    """Return the lane and the policy line of drafts with this policy."""
    type, queue = policy[:2]
    return lane(queue, type), dumps(policy)


def _last_lines(parent: str | None, *values: Any) -> str:
    rare, others = values[: len(RARE)], zip(OTHERS, values[len(RARE) :], strict=True)
    given = {name: value for name, value in others if value != _DEFAULTS[name]}
    return f"{'' if parent is None else ' ' + dumps(parent)}\n{dumps((*rare, given) if given else rare)}"


@lru_cache(CACHED)
def policy(line: str) -> tuple[Any, ...]:
    """Return the values of a policy line, in the order of `POLICY`."""
    return tuple(json.loads(line))


def version(last: str) -> int:
    """Return the version of the payload, from the last line of a header."""
    return json.loads(last)[-1]["version"] if '{"version":' in last else 1


def read(text: str) -> dict[str, Any]:
    """Return the columns in a header, by name."""
    first, origin, last = text.split("\n")
    created, _, parent = origin.partition(" ")
    found = _DEFAULTS | dict(zip(POLICY, policy(first), strict=True)) | {"created_at": int(created)}
    if parent:
        found["parent"] = json.loads(parent)
    if last:
        values = json.loads(last)
        found |= zip(RARE, values, strict=False)
        found |= values[len(RARE)] if len(values) > len(RARE) else {}
    return found | {"tags": tuple(found["tags"])}


def term(letter: str, value: str) -> str:
    """Return a value by which a search finds a job, as the index has it before the job's id."""
    if "\0" in value or "\1" in value:  # no value may look like another with an id behind it
        value = value.replace("\1", "\1\2").replace("\0", "\1\1")
    return f"{letter}{value}\0"


def terms(draft: Draft) -> list[str]:
    """Return all values by which a search finds a job."""
    given = ((letter, getattr(draft, name)) for name, letter in TERMS.items())
    return [
        term(letter, each)
        for letter, value in given
        if value is not None
        for each in ([value] if isinstance(value, str) else dict.fromkeys(value))
    ]
