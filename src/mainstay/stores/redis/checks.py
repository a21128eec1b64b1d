"""What must hold of a candidate of a search, term by term: the same answers as the SQL engines give."""

from __future__ import annotations

import json
import operator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...core import ids
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
    """A job as a search sees it: its values (statements/look.lua), opened as far as someone asks."""

    def __init__(self, values: list[Any]) -> None:
        self.id, letter, self.attempt, self.worker, self.started, self.finished, cancel, self.reason = values[:8]
        self.state, self.cancelled = STATES[letter], cancel is not None
        self._text, self._payload, self._attempts = values[8:]

    @cached_property
    def meta(self) -> header.Meta:
        return header.read(self._text)

    @cached_property
    def attempts(self) -> list[list[Any]]:
        return [json.loads(text) for text in self._attempts]

    @cached_property
    def payload(self) -> Any:
        try:
            return json.loads(self._payload)
        except ValueError:
            return _MISSING


FIELDS: dict[str, Callable[[Candidate], Any]] = {
    "priority": lambda job: job.meta.head.priority, "attempt": lambda job: job.attempt,
    "created": lambda job: job.meta.created_at, "finished": lambda job: job.finished, "key": lambda job: job.meta.key,
    "ref": lambda job: job.meta.ref, "tenant": lambda job: job.meta.tenant, "type": lambda job: job.meta.head.type,
    "queue": lambda job: job.meta.head.queue, "id": lambda job: job.id, "parent": lambda job: job.meta.parent,
}  # fmt: skip


def check(term: Term, now: int) -> Check:
    """Whether a term holds of a candidate."""
    holds = CHECKS[term.field](term, now)
    return (lambda job: not holds(job)) if term.negated else holds


def begins(text: str | None, start: object) -> bool:
    """Whether a text starts so; each character of an id sorts below the tilde."""
    return text is not None and str(start) <= text < f"{start}~"


def _begins(term: Term, now: int) -> Check:
    field = FIELDS[term.field]
    return lambda job: any(begins(field(job), value) for value in term.values)


def names(name: str, term: Term) -> bool:
    """Whether a name is one of a term's, or starts as one that ends with a star."""
    return any(_name(name, str(value)) for value in term.values)


def _name(name: str, value: str) -> bool:
    return name.startswith(value[:-1]) if value.endswith("*") else name == value


def _names(term: Term, now: int) -> Check:
    field = FIELDS[term.field]
    return lambda job: names(field(job), term)


def _compares(term: Term, now: int) -> Check:
    field, op = FIELDS[term.field], OPS[term.op]
    return lambda job: (found := field(job)) is not None and any(op(found, value) for value in term.values)


def _instants(term: Term, now: int) -> Check:
    """Equal to a span is within it: the values are pairs."""
    if term.op != "=":
        return _compares(term, now)
    field, pairs = FIELDS[term.field], list(zip(term.values[::2], term.values[1::2], strict=True))
    return lambda job: (at := field(job)) is not None and any(start <= at < end for start, end in pairs)


def _labels(term: Term, now: int) -> Check:
    return lambda job: any(_label(job, str(label)) for label in term.values)


def _label(job: Candidate, label: str) -> bool:
    if label == "retrying":
        return job.state == "scheduled" and job.attempt > 0
    return job.state == "running" and job.cancelled if label == "cancelling" else job.state == label


def _tags(term: Term, now: int) -> Check:
    return lambda job: any(value in job.meta.tags for value in term.values)


def _workers(term: Term, now: int) -> Check:
    """Held by a worker whose name starts so, now or in an attempt that is on record."""
    return lambda job: any(
        begins(worker, value) for value in term.values for worker in (job.worker, *(each[2] for each in job.attempts))
    )


def _took(term: Term, now: int) -> Check:
    """The time of the last attempt; a running one counts until now."""
    op = OPS[term.op]
    return lambda job: (spent := _spent(job, now)) is not None and any(op(spent, value) for value in term.values)


def _spent(job: Candidate, now: int) -> int | None:
    end = now if job.state == "running" else job.finished
    return None if end is None or job.started is None else end - job.started


def _errors(term: Term, now: int) -> Check:
    """In the error of any attempt, or in the reason for which the job stands where it does."""
    return lambda job: any(_error(job, str(value).lower()) for value in term.values)


def _error(job: Candidate, text: str) -> bool:
    texts = (job.reason, *(each[6] for each in job.attempts))
    return any(text in each.lower() for each in texts if each is not None)


def _words(term: Term, now: int) -> Check:
    """The beginning of the id, or anywhere in the type or an error."""
    return lambda job: any(_word(job, str(value)) for value in term.values)


def _word(job: Candidate, text: str) -> bool:
    return begins(job.id, ids.normal(text)) or text.lower() in job.meta.head.type.lower() or _error(job, text.lower())


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
    """As text and, where it reads as one, as a number, true, false or null; more or less than a number is a number."""
    value = number(text)
    if isinstance(found, str):
        return (op == "=" or value is None) and OPS[op](found, text)
    if isinstance(found, bool) or found is None:
        return op == "=" and text == json.dumps(found)
    return isinstance(found, (int, float)) and value is not None and OPS[op](found, value)


CHECKS: dict[str, Callable[[Term, int], Check]] = {
    "id": _begins, "type": _names, "queue": _names, "state": _labels, "priority": _compares, "attempt": _compares,
    "worker": _workers, "key": _compares, "ref": _compares, "tenant": _compares, "tag": _tags, "parent": _begins,
    "error": _errors, "text": _words, "args": _args, "took": _took, "created": _instants, "finished": _instants,
}  # fmt: skip
