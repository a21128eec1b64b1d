"""The fields of a job in Redis: the one list from which the scripts' positions and the rows they return are derived.

A record is a packed array in the hash `job`. The header, one of its fields, is text (header.py). Long texts are in hashes of
their own. The names are those of `core.export.JobRecord`, except `seq`, `lane`, `held`, `terms`,
`header`, `rated` (a scheduled job that waits for its rate) and `awaited` (a job that others wait for).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...core import states
from ...core.export import real
from ...core.tally import ATTEMPTS, BOUNDS
from . import header

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T", bound=tuple[Any, ...])

STATES = {  # by the letter that records have
    "q": states.QUEUED, "s": states.SCHEDULED, "b": states.BLOCKED, "r": states.RUNNING, "v": states.REVIEW,
    "c": states.COMPLETED, "x": states.CANCELLED, "d": states.DEAD,
}  # fmt: skip
LETTERS = {state: letter for letter, state in STATES.items()}
FIELDS: dict[str, int | bool] = {  # in the order stored, each with its value in a new record; False: absent
    "state": False, "token": 0, "attempt": 0, "crashes": 0, "seq": False, "priority": 0, "ord": False, "lane": False,
    "timeout": False, "keep": False, "worker": False, "run_at": False, "started_at": False, "finished_at": False,
    "expires_at": False, "cancel_at": False, "lock": False, "lock_until": False, "held": False, "reason": False,
    "terms": False, "header": False,
    # Records of plain jobs end here. Those of jobs with rules, a time to start by or children that wait have all of the rest.
    "rules": False, "waits": False, "start_by": False, "rated": False, "awaited": False,
}  # fmt: skip
SHORT = list(FIELDS).index("rules")  # fields that every record has
POSITIONS = {name: n for n, name in enumerate(FIELDS, 1)}
CLAIMED = ("header", "attempt", "crashes", "token", "ord")  # what a claim returns of a record
TEXTS = ("payload", "result", "children", "checkpoint", "error", "code", "bulks", "review", "fingerprint", "details")
HASHES = {"review": "asked"}  # of texts that are in a hash of another name
PROGRESS = ("done", "total", "stage")  # one text, "progress"
SEQ = 12  # characters of the number in front of an id


_BLANK = ", ".join(json.dumps(value) for value in list(FIELDS.values())[:SHORT])
_CLAIMED = ", ".join(str(POSITIONS[name]) for name in CLAIMED)
_LISTS = {
    "BLANK": _BLANK, "CLAIMED": _CLAIMED, "TALLY": ", ".join(map(str, BOUNDS)), "TRIES": ", ".join(map(str, ATTEMPTS)),
}  # fmt: skip


def with_positions(script: str) -> str:
    """Return a script with the numbers for `[STATE]`, … and the lists for `{ BLANK }` (a new record), `{ CLAIMED }` and so on.

    Numbers in the text cost nothing. Local variables would cost each call some 5 us: every function captures those it uses.
    """
    script = re.sub(r"\[([A-Z_]+)\]", lambda found: f"[{POSITIONS.get(found[1].lower(), found[1])}]", script)
    for mark, values in _LISTS.items():
        script = script.replace(f"{{ {mark} }}", f"{{ {values} }}")
    return script.replace("{ LAST_TRY }", str(ATTEMPTS[-1])).replace("{ LANE_AT }", str(POSITIONS["lane"]))


class Rows(Generic[T]):
    """The rows that a script returns (statements/parts/row.lua), each read as one of `kind`, a named tuple."""

    def __init__(self, kind: Any, *without: str) -> None:
        self.kind = kind
        wanted = set(kind._fields).difference(without)
        self._fields = [name for name in FIELDS if name in wanted or name in _ALWAYS]
        self._texts = [name for name in TEXTS if name in wanted] + ["progress"] * ("stage" in wanted)
        self._absent = dict.fromkeys(without, "")
        hashes = [HASHES.get(name, name) for name in self._texts]
        self.shape = {"fields": [POSITIONS[name] for name in self._fields], "texts": hashes}
        self.request = header.dumps(self.shape)

    def read(self, row: Sequence[Any]) -> T:
        """Return the job in a row."""
        found = columns(dict(zip(("id", *self._fields, *self._texts), row, strict=True))) | self._absent
        job: T = self.kind._make(map(found.__getitem__, self.kind._fields))
        return job


_ALWAYS = ("state", "seq", "held", "cancel_at", "header")  # what columns are derived from


def columns(found: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a job by name, from the fields and texts that were read."""
    found |= header.read(found["header"])
    done, total, stage = json.loads(found.get("progress") or "[null,null,null]")
    return found | {
        "state": STATES[found["state"]], "seq": found["seq"] + found["id"], "lock": found.get("lock") if found["held"] else None,
        "rank": -found["priority"], "cancelling": found["cancel_at"] is not None,
        "done": real(done), "total": real(total), "stage": stage,
    }  # fmt: skip
