"""Checks of a search's candidates, term by term, with the same results as on the SQL engines."""

from __future__ import annotations

import json
import operator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...core import ids
from ...core.job import Attempt
from ...core.search_terms import number
from . import header
from .state_codes import STATES

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...core.search_terms import Term

    Check = Callable[["Candidate"], bool]

OPS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MISSING = object()


class Candidate:
    """A job as a search sees it (statements/candidates.lua), decoded as far as a check needs it."""

    FIELDS = ("state", "attempt", "worker", "started_at", "finished_at", "cancel_at", "reason", "header")

    def __init__(self, values: list[Any]) -> None:
        *known, self._attempts = values
        self.fields = dict(zip(("id", *self.FIELDS, "payload"), known, strict=False))  # the payload where it was wanted
        self.id, self.state = self.fields["id"], STATES[self.fields["state"]]

    @cached_property
    def asked(self) -> dict[str, Any]:
        return header.read(self.fields["header"])

    def __getitem__(self, column: str) -> Any:
        return self.fields[column] if column in self.fields else self.asked[column]

    @cached_property
    def attempts(self) -> list[Attempt]:
        return [Attempt._make(json.loads(text)) for text in self._attempts]

    @cached_property
    def payload(self) -> Any:
        try:
            return json.loads(self.fields["payload"])
        except ValueError:
            return _MISSING


_COLUMNS = {"created": "created_at", "finished": "finished_at"}  # of fields whose column has another name


def field_of(term: Term) -> Callable[[Candidate], Any]:
    """Return how to read the column that a term is about."""
    column = _COLUMNS.get(term.field, term.field)
    return lambda job: job[column]


def check(term: Term, now: int) -> Check:
    """Return a function that tells whether a term holds of a candidate."""
    holds = CHECKS[term.field](term, now)
    return (lambda job: not holds(job)) if term.negated else holds


def begins(text: str | None, start: object) -> bool:
    """Return whether a text has this prefix; each character of an id sorts below the tilde."""
    return text is not None and str(start) <= text < f"{start}~"


def _begins(term: Term, now: int) -> Check:
    field = field_of(term)
    return lambda job: any(begins(field(job), value) for value in term.values)


def names(name: str, term: Term) -> bool:
    """Return whether a name is one of a term's, or has the prefix that one with a star at its end names."""
    return any(_name(name, str(value)) for value in term.values)


def _name(name: str, value: str) -> bool:
    return name.startswith(value[:-1]) if value.endswith("*") else name == value


def _names(term: Term, now: int) -> Check:
    field = field_of(term)
    return lambda job: names(field(job), term)


def _compares(term: Term, now: int) -> Check:
    field, op = field_of(term), OPS[term.op]
    return lambda job: (found := field(job)) is not None and any(op(found, value) for value in term.values)


def _instants(term: Term, now: int) -> Check:
    """Equal means within a span: the values are pairs."""
    if term.op != "=":
        return _compares(term, now)
    field, pairs = field_of(term), list(zip(term.values[::2], term.values[1::2], strict=True))
    return lambda job: (at := field(job)) is not None and any(start <= at < end for start, end in pairs)


def _labels(term: Term, now: int) -> Check:
    return lambda job: any(_label(job, str(label)) for label in term.values)


def _label(job: Candidate, label: str) -> bool:
    if label == "retrying":
        return job.state == "scheduled" and job["attempt"] > 0
    return job.state == "running" and job["cancel_at"] is not None if label == "cancelling" else job.state == label


def _tags(term: Term, now: int) -> Check:
    return lambda job: any(value in job["tags"] for value in term.values)


def _workers(term: Term, now: int) -> Check:
    """Claimed by a worker whose name has this prefix, now or in an attempt that is on record."""
    return lambda job: any(
        begins(worker, value) for value in term.values for worker in (job["worker"], *(a.worker for a in job.attempts))
    )


def _took(term: Term, now: int) -> Check:
    """The duration of the last attempt; a running one counts until now."""
    op = OPS[term.op]
    return lambda job: (spent := _spent(job, now)) is not None and any(op(spent, value) for value in term.values)


def _spent(job: Candidate, now: int) -> int | None:
    start, end = job["started_at"], now if job.state == "running" else job["finished_at"]
    return None if end is None or start is None else end - start


def _errors(term: Term, now: int) -> Check:
    """In the error of any attempt, or in the reason for the job's state."""
    return lambda job: any(_error(job, str(value).lower()) for value in term.values)


def _error(job: Candidate, text: str) -> bool:
    texts = (job["reason"], *(attempt.error for attempt in job.attempts))
    return any(text in each.lower() for each in texts if each is not None)


def _words(term: Term, now: int) -> Check:
    """A prefix of the id, or a part of the type or of an error."""
    return lambda job: any(_word(job, str(value)) for value in term.values)


def _word(job: Candidate, text: str) -> bool:
    return begins(job.id, ids.normal(text)) or text.lower() in job["type"].lower() or _error(job, text.lower())


def _args(term: Term, now: int) -> Check:
    """At this place in the payload; a payload that cannot be read never matches."""
    return lambda job: any(_arg(_reach(job.payload, term.path), term.op, str(value)) for value in term.values)


def _reach(found: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if not isinstance(found, dict) or part not in found:
            return _MISSING
        found = found[part]
    return found


def _arg(found: Any, op: str, text: str) -> bool:
    """Compare as text and, where the text is one, as a number, true, false or null. Only a number is above or below one."""
    value = number(text)
    if isinstance(found, str):
        return (op == "=" or value is None) and OPS[op](found, text)
    if isinstance(found, bool) or found is None:
        return op == "=" and text == json.dumps(found)
    return isinstance(found, (int, float)) and value is not None and OPS[op](found, value)


CHECKS: dict[str, Callable[[Term, int], Check]] = {
    **{name: _compares for name in header.TERMS if name != "tags"}, "parent": _begins, "tag": _tags,
    "id": _begins, "type": _names, "queue": _names, "state": _labels, "priority": _compares, "attempt": _compares,
    "worker": _workers, "error": _errors, "text": _words, "args": _args, "took": _took, "created": _instants,
    "finished": _instants,
}  # fmt: skip
