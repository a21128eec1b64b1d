"""Parses the text of a search into the terms that `Store.search` takes. The CLI, the API and the dashboard use it.

`type:send_email state:dead,retrying error:"connection refused" age:>1h -tag:eu`: a space is *and*, a comma is *or*, a
leading `-` is *not*, and quotes enclose spaces and commas. A word without a qualifier is searched in ids, types and
errors. Instants and durations become milliseconds here, so the stores never parse words like `today`.

For `created` and `finished`, `=` holds pairs: from (inclusive), until (exclusive), from, until, …
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .core import ids, states
from .core.clock import milliseconds
from .core.errors import UsageError
from .core.search_terms import COMPARED, FIELDS, Term
from .core.suggest import closest

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

QUALIFIERS = (*FIELDS, "age")
LABELS = (*states.STATES, "retrying", "cancelling")
GROUPS = {
    "waiting": tuple(state for state in states.STATES if state in states.WAITING),
    "ended": tuple(state for state in states.STATES if state in states.ENDED),
    "alive": tuple(state for state in states.STATES if state not in states.ENDED),
}
# Names of these states in other job systems, for hints. They are not accepted.
FOREIGN = {
    "pending": "waiting", "delayed": "scheduled", "active": "running", "processing": "running", "in_progress": "running",
    "claimed": "running", "done": "completed", "success": "completed", "succeeded": "completed", "failed": "dead",
    "failure": "dead", "error": "dead", "discarded": "dead", "review_needed": "review", "paused": "waiting",
}  # fmt: skip
FOREVER = 2**63 - 1
MAX_TEXT, MAX_TERMS, MAX_VALUES = 4_000, 50, 200

_NAME = re.compile(r'([A-Za-z][^:"\s,<>=]*):')
_OPERATOR = re.compile(r'([A-Za-z][\w.]*)(>=|<=|=+|>|<)([^"]*)$')
_OPS = (">=", "<=", ">", "<")


class Value(NamedTuple):
    """One value as typed; a quoted one has no operator."""

    text: str
    quoted: bool


def parse(text: str, now: int) -> list[Term]:
    """Return the terms of a search; `UsageError` says what is wrong with the text and how to correct it."""
    if len(text) > MAX_TEXT:
        raise UsageError(f"a search has at most {MAX_TEXT:,} characters, this one has {len(text):,}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("the search holds characters that are not valid Unicode; type it again") from None
    pieces = _pieces(text)
    if len(pieces) > MAX_TERMS:
        raise UsageError(f"a search has at most {MAX_TERMS} terms; join values with commas: id:01J…,01K…")
    return [_term(piece, now) for piece in pieces]


def _pieces(text: str) -> list[str]:
    """Split the text at spaces."""
    return [piece for piece in _cut(text, str.isspace) if piece]


def _cut(text: str, between: Callable[[str], bool]) -> list[str]:
    """Split the text at the characters for which `between` is true, outside quotes."""
    items, item, quoted, escaped = [], "", False, False
    for character in text:
        if not quoted and between(character):
            items.append(item)
            item = ""
            continue
        item += character
        if not escaped and character == '"':
            quoted = not quoted
        escaped = quoted and not escaped and character == "\\"
    if quoted:
        raise UsageError(f'the quote in {item!r} is not closed; write "…" around words that belong together')
    return [*items, item]


def _term(piece: str, now: int) -> Term:
    negated = piece.startswith("-")
    rest = piece[1:] if negated else piece
    if not rest:
        raise UsageError("'-' excludes a term: write it directly before the term, e.g. -tag:eu")
    named = _NAME.match(rest)
    if named is None:
        _check_operator(rest)
        return Term("text", "~", _texts("text", _values(rest)), negated)
    return _qualified(named[1], _values(rest[named.end() :]), now, piece)._replace(negated=negated)


def _check_operator(text: str) -> None:
    """Raise for a field with another operator than a colon: `state=dead`, `age>1h`."""
    found = _OPERATOR.match(text)
    if found and found[1].partition(".")[0].lower() in QUALIFIERS:
        meant = f"{found[1]}:{found[2] if found[2][0] in '<>' else ''}{found[3]}"
        raise UsageError(
            f'{text}: a field is searched with a colon: {meant}. To look for the text itself, quote it: "{text}"'
        )


def _qualified(name: str, values: list[Value], now: int, piece: str) -> Term:
    field, _, path = name.partition(".")
    field = field.lower()
    if field not in READERS or (path and field != "args"):
        raise _unknown(name, piece)
    if not values:
        raise UsageError(f"{name}: needs a value, e.g. {EXAMPLES[field]}")
    if field == "args":
        return _args(name, path, values)
    op, values = _comparison(name, field, values)
    return READERS[field](field, op, values, now)


def _unknown(name: str, piece: str) -> UsageError:
    near = closest(name.partition(".")[0], QUALIFIERS)
    hint = f'did you mean "{near}:"? ' if near else ""
    quoted = piece.replace("\\", "\\\\").replace('"', '\\"')
    return UsageError(
        f'there is no search qualifier "{name}:"; {hint}there are: {", ".join(QUALIFIERS)}. '
        f'To look for the text itself, quote it: "{quoted}"'
    )


# Values -------------------------------------------------------------------------------------------------------------


def _values(text: str) -> list[Value]:
    """Return the comma-separated values of a term."""
    if not text:
        return []
    values = [_unquoted(item) for item in _cut(text, ",".__eq__)]
    if any(not value.text for value in values):
        raise UsageError(f"{text!r}: a value is missing; write a comma only between two values, and no empty quotes")
    if len(values) > MAX_VALUES:
        raise UsageError(f"a term has at most {MAX_VALUES} values, this one has {len(values):,}")
    return values


def _unquoted(item: str) -> Value:
    if '"' not in item:
        return Value(item, quoted=False)
    plain, escaped, quoted = "", False, False
    for character in item:
        if quoted and not escaped and character == "\\":
            escaped = True
            continue
        if character == '"' and not escaped:
            quoted = not quoted
        else:
            plain += character
        escaped = False
    return Value(plain, quoted=item.startswith('"'))


def _comparison(name: str, field: str, values: list[Value]) -> tuple[str, list[Value]]:
    """Return the operator before the first value, or "=", and the values without it."""
    first = values[0]
    op = "" if first.quoted else next((op for op in _OPS if first.text.startswith(op)), "")
    if not op:
        return "=", values
    if field not in COMPARED and field != "age":
        raise UsageError(
            f'{name}: cannot be compared with {op}; quote the value to search for it literally: {name}:"{first.text}"'
        )
    if len(values) > 1:
        raise UsageError(f"{name}:{op} takes one value; write two terms for a range, e.g. {EXAMPLES[field]}")
    if first.text == op:
        raise UsageError(f"{name}:{op} needs a value without a space before it, e.g. {EXAMPLES[field]}")
    return op, [Value(first.text[len(op) :], quoted=False)]


def _texts(name: str, values: list[Value]) -> tuple[str, ...]:
    for value in values:
        if "\0" in value.text:
            raise UsageError(f"{name}: a value cannot hold a NUL character")
    return tuple(value.text for value in values)


# Readers: one for each kind of qualifier ------------------------------------------------------------------------------


def _words(field: str, op: str, values: list[Value], now: int) -> Term:
    return Term(field, op, _texts(field, values))


def _contains(field: str, op: str, values: list[Value], now: int) -> Term:
    return Term(field, "~", _texts(field, values))


def _ids(field: str, op: str, values: list[Value], now: int) -> Term:
    """Ids, or beginnings of ids."""
    return Term(field, op, tuple(_id(field, value.text) for value in values))


def _id(field: str, text: str) -> str:
    found = ids.prefix(text)
    if found is None:
        raise UsageError(f"{field}:{text} is not an id: an id is {ids.LENGTH} letters and digits, or its beginning")
    return found


def _labels(field: str, op: str, values: list[Value], now: int) -> Term:
    found: list[str] = []
    for value in values:
        word = value.text.lower()
        if word not in LABELS and word not in GROUPS:
            raise _no_state(value.text)
        found += [label for label in GROUPS.get(word, (word,)) if label not in found]
    return Term(field, op, tuple(found))


def _no_state(word: str) -> UsageError:
    near = FOREIGN.get(word.lower()) or closest(word, [*LABELS, *GROUPS])
    hint = f'did you mean "{near}"? ' if near else ""
    return UsageError(
        f'there is no state "{word}"; {hint}there are: {", ".join(LABELS)}, and the groups {", ".join(GROUPS)}'
    )


def _numbers(field: str, op: str, values: list[Value], now: int) -> Term:
    return Term(field, op, tuple(_whole(field, value.text) for value in values))


def _whole(field: str, text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise UsageError(f"{field}:{text} needs a whole number, e.g. {EXAMPLES[field]}")
    return int(text)


def _age(field: str, op: str, values: list[Value], now: int) -> Term:
    """Turn an age into a bound on `created`: `age:>1h` is `created` earlier than one hour ago."""
    turned = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
    if op == "=":
        raise UsageError(
            f"age: needs > or <: age:>{values[0].text} is older than that, age:<{values[0].text} is younger"
        )
    return Term("created", turned[op], (now - _duration(field, values[0].text),))


def _took(field: str, op: str, values: list[Value], now: int) -> Term:
    if op == "=":
        raise UsageError(f"took: needs > or <, e.g. took:>{values[0].text}")
    return Term(field, op, (_duration(field, values[0].text),))


def _duration(field: str, text: str) -> int:
    try:
        return milliseconds(text)
    except (ValueError, OverflowError):
        raise UsageError(f"{field}: {text!r} is not a duration; write 90s, 5m, 2h, 3d: {EXAMPLES[field]}") from None


def _args(name: str, path: str, values: list[Value]) -> Term:
    parts = tuple(path.split("."))
    if not all(parts):
        raise UsageError(f"{name}: needs a path into the arguments, e.g. {EXAMPLES['args']}")
    op, values = _comparison(name, "args", values)
    return Term("args", op, _texts(name, values), path=parts)


# Instants -----------------------------------------------------------------------------------------------------------


def _instants(field: str, op: str, values: list[Value], now: int) -> Term:
    if op == "=":
        pairs = [_span(field, value.text, now) for value in values]
        return Term(field, op, tuple(edge for pair in pairs for edge in pair))
    start, end = _moment(field, op, values[0].text, now)
    if op in {">", "<="}:  # after the end of the day or instant, or before it
        return Term(field, ">=" if op == ">" else "<", (end,))
    return Term(field, op, (start,))


def _span(field: str, text: str, now: int) -> tuple[int, int]:
    """Return from and until of a day, or of the time since a duration ago."""
    day = _day(text, now)
    if day is not None:
        return day
    if _instant(text) is not None:
        raise UsageError(f"{field}:{text} would match one millisecond only; compare instead: {field}:>={text}")
    try:
        return now - milliseconds(text), FOREVER
    except (ValueError, OverflowError):
        raise _no_instant(field, text) from None


def _moment(field: str, op: str, text: str, now: int) -> tuple[int, int]:
    """Return the start and the end of a day or an instant."""
    day = _day(text, now)
    if day is not None:
        return day
    instant = _instant(text)
    if instant is not None:
        return instant, instant + 1
    if text[:1].isdigit() and text[-1:] in "smhdw":
        raise UsageError(
            f"{field}:{op}{text} is ambiguous; write {field}:{text} for the time since then, age:>{text} for before"
        )
    raise _no_instant(field, text)


def _no_instant(field: str, text: str) -> UsageError:
    return UsageError(
        f"{field}: {text!r} is not a time; write today, yesterday, a day as 2026-01-31, an instant as 2026-01-31T09:30, "
        f"or 1h for the last hour"
    )


def _day(text: str, now: int) -> tuple[int, int] | None:
    """Return a day from midnight to midnight in local time. It may have 23 or 25 hours: the moments have no zone."""
    from datetime import datetime, timedelta

    try:
        if text.lower() in {"today", "yesterday"}:
            moment = datetime.fromtimestamp(now / 1000)  # noqa: DTZ006
            midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
            midnight -= timedelta(days=text.lower() == "yesterday")
        else:
            midnight = datetime.strptime(text, "%Y-%m-%d")  # noqa: DTZ007
        return _ms(midnight), _ms(midnight + timedelta(days=1))
    except (ValueError, OverflowError, OSError):
        return None


def _instant(text: str) -> int | None:
    from datetime import datetime

    try:
        return _ms(datetime.fromisoformat(text)) if "T" in text else None
    except (ValueError, OverflowError, OSError):
        return None


def _ms(moment: datetime) -> int:
    """Return milliseconds since the epoch; a moment without a zone is in local time."""
    return round(moment.timestamp() * 1000)


READERS: dict[str, Callable[[str, str, list[Value], int], Term]] = {
    "id": _ids, "type": _words, "queue": _words, "state": _labels, "priority": _numbers, "attempt": _numbers,
    "worker": _words, "key": _words, "ref": _words, "tenant": _words, "tag": _words, "parent": _ids,
    "error": _contains, "text": _contains, "args": _words, "age": _age, "took": _took,
    "created": _instants, "finished": _instants,
}  # fmt: skip
EXAMPLES = {
    "id": "id:01JQ93", "type": "type:mail.*", "queue": "queue:llm", "state": "state:dead,retrying",
    "priority": "priority:>5", "attempt": "attempt:>2", "worker": "worker:wk7q2", "key": "key:invoice-42",
    "ref": "ref:profile/9", "tenant": "tenant:acme", "tag": "tag:eu", "parent": "parent:01JQ93",
    "error": 'error:"connection refused"', "text": 'text:"connection refused"', "args": "args.user.id:42",
    "age": "age:>1h", "took": "took:>30s", "created": "created:>=2026-01-31 created:<2026-02-02",
    "finished": "finished:today",
}  # fmt: skip
