"""Parses the text of a search into the terms that `Store.search` takes. The CLI, the API and the dashboard use it.

`type:send_email state:dead,retrying error:"connection refused" age:>1h -tag:eu`: a space is *and*, a comma is *or*, a
leading `-` is *not*, and quotes enclose spaces and commas. A word without a qualifier is searched in ids, types and
errors. Instants and durations become milliseconds here, so the stores never parse words like `today`.

For `created` and `finished`, `=` holds pairs: from (inclusive), until (exclusive), from, until, …
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .core import ids, states
from .core.clock import milliseconds
from .core.errors import UsageError
from .core.search_terms import COMPARED, FIELDS, Term
from .core.suggest import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from .core.search_terms import Page
    from .stores.contract import Store

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
_OPERATOR, _TURNED = re.compile("[<>]=?"), str.maketrans("<>", "><")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PIECE = re.compile(rf'(?:{_QUOTED.pattern}|".*|[^\s"])+', re.DOTALL)  # a quote that is not closed takes the rest
_ITEM = re.compile(rf'((?:{_QUOTED.pattern}|[^,"])*),', re.DOTALL)
_PLAIN = re.compile(r"[\w.*/@-][\w.*/@:-]*")  # a value that needs no quotes
_OTHER_OPERATOR = re.compile(r'([A-Za-z][\w.]*)(>=|<=|=+|>|<)([^"]*)$')


def parse(text: str, now: int) -> list[Term]:
    """Return the terms of a search; `UsageError` says what is wrong with the text and how to correct it."""
    if len(text) > MAX_TEXT:
        raise UsageError(f"a search has at most {MAX_TEXT:,} characters, this one has {len(text):,}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("the search holds characters that are not valid Unicode; type it again") from None
    pieces = _PIECE.findall(text)
    if pieces and '"' in _QUOTED.sub("", pieces[-1]):
        raise UsageError(f'the quote in {pieces[-1]!r} is not closed; write "…" around words that belong together')
    if len(pieces) > MAX_TERMS:
        raise UsageError(f"a search has at most {MAX_TERMS} terms; join values with commas: id:01J…,01K…")
    return [_term(piece, now) for piece in pieces]


def term(field: str, *values: str) -> str:
    """Return the text of a term that finds one of these values, whatever characters they have."""
    return f"{field}:{','.join(map(_quoted, values))}"


def completed(word: str, values: Callable[[str, str], Iterable[str]]) -> list[str]:
    """Return the terms that a word may become: names of qualifiers, then values. `values(name, start)` returns those of a name."""
    minus = "-" * word.startswith("-")
    name, colon, given = word[len(minus) :].partition(":")
    if not colon:
        return [f"{minus}{each}:" for each in READERS if each.startswith(name.lower())]
    before, comma, last = given.rpartition(",")
    start = last.strip('"')
    known = (*LABELS, *GROUPS) if name == "state" else values(name, start)
    found = [each for each in known if each.casefold().startswith(start.casefold())]
    return [f"{minus}{name}:{before}{comma}{each if _PLAIN.fullmatch(each) else _quoted(each)}" for each in found]


def last_word(text: str) -> str:
    """Return the word at the end of a search that is being typed; "" after a space."""
    pieces = _PIECE.findall(text)
    return pieces[-1] if pieces and text.endswith(pieces[-1]) else ""


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def place(after: str | None) -> str | None:
    """Return the job after which a page begins, if it is an id; else raise."""
    found = None if after is None else ids.normal(after)
    if found is not None and (len(found) != ids.LENGTH or ids.prefix(found) is None):
        raise UsageError(f"{after!r} is no place in a list: give the whole id of its last job")
    return found


def _term(piece: str, now: int) -> Term:
    negated = piece.startswith("-")
    rest = piece[1:] if negated else piece
    if not rest:
        raise UsageError("'-' excludes a term: write it directly before the term, e.g. -tag:eu")
    named = _NAME.match(rest)
    if named is None:
        _check_operator(rest)
        return Term("text", "~", tuple(map(_unquoted, _items("text", rest))), negated)
    return _qualified(named[1], _items(named[1], rest[named.end() :]), now, piece)._replace(negated=negated)


def _check_operator(text: str) -> None:
    """Raise for a field with another operator than a colon: `state=dead`, `age>1h`."""
    found = _OTHER_OPERATOR.match(text)
    if found and found[1].partition(".")[0].lower() in QUALIFIERS:
        meant = f"{found[1]}:{found[2] if found[2][0] in '<>' else ''}{found[3]}"
        raise UsageError(
            f'{text}: a field is searched with a colon: {meant}. To look for the text itself, quote it: "{text}"'
        )


def _qualified(name: str, items: list[str], now: int, piece: str) -> Term:
    field, _, path = name.partition(".")
    field = field.lower()
    if field not in READERS or (path and field != "args"):
        raise _unknown(name, piece)
    if not items:
        example = READERS[field][1]
        quoted = f"; in a shell, in quotes: '{example}'" if set("<>") & set(example) else ""
        raise UsageError(f"{name}: needs a value, e.g. {example}{quoted}")
    parts = tuple(path.split(".")) if field == "args" else ()
    if not all(parts):
        raise UsageError(f"{name}: needs a path into the arguments, e.g. {READERS['args'][1]}")
    op, values = _comparison(name, field, items)
    return READERS[field][0](field, op, values, now)._replace(path=parts)


def _unknown(name: str, piece: str) -> UsageError:
    near = closest(name.partition(".")[0], QUALIFIERS)
    hint = f'did you mean "{near}:"? ' if near else ""
    return UsageError(
        f'there is no search qualifier "{name}:"; {hint}there are: {", ".join(QUALIFIERS)}. '
        f"To look for the text itself, quote it: {_quoted(piece)}"
    )


# Values -------------------------------------------------------------------------------------------------------------


def _items(name: str, text: str) -> list[str]:
    """Return the comma-separated values of a term as they were typed, with their quotes and operator."""
    items = _ITEM.findall(f"{text},") if text else []
    if "\0" in text:
        raise UsageError(f"{name}: a value cannot hold a NUL character")
    if not all(_unquoted(item) for item in items):
        raise UsageError(f"{text!r}: a value is missing; write a comma only between two values, and no empty quotes")
    if len(items) > MAX_VALUES:
        raise UsageError(f"a term has at most {MAX_VALUES} values, this one has {len(items):,}")
    return items


def _unquoted(item: str) -> str:
    return _QUOTED.sub(lambda quoted: re.sub(r"(?s)\\(.)", r"\1", quoted[0][1:-1]), item)


def _comparison(name: str, field: str, items: list[str]) -> tuple[str, list[str]]:
    """Return the operator before the first value, or "=", and the values without it and without quotes."""
    found, values = _OPERATOR.match(items[0]), [_unquoted(item) for item in items]
    if found is None:
        return "=", values
    op, first = found[0], values[0]
    if field not in COMPARED and field != "age":
        raise UsageError(
            f'{name}: cannot be compared with {op}; quote the value to search for it literally: {name}:"{first}"'
        )
    if len(values) > 1:
        raise UsageError(f"{name}:{op} takes one value; write two terms for a range, e.g. {READERS[field][1]}")
    if first == op:
        raise UsageError(f"{name}:{op} needs a value without a space before it, e.g. {READERS[field][1]}")
    return op, [first.removeprefix(op)]


# Readers: one for each kind of qualifier ------------------------------------------------------------------------------


def _words(field: str, op: str, values: list[str], now: int) -> Term:
    return Term(field, "~" if "~" in FIELDS[field] else op, tuple(values))


def _ids(field: str, op: str, values: list[str], now: int) -> Term:
    """Ids, or beginnings of ids."""
    found = [ids.prefix(text) for text in values]
    if None in found:
        text = values[found.index(None)]
        raise UsageError(f"{field}:{text} is not an id: an id is {ids.LENGTH} letters and digits, or its beginning")
    return Term(field, op, tuple(filter(None, found)))


def _prints(field: str, op: str, values: list[str], now: int) -> Term:
    """Fingerprints of dead jobs, or beginnings of them."""
    found = tuple(text.lower() for text in values)
    for text in found:
        if not re.fullmatch(r"[0-9a-f]{1,64}", text):
            raise UsageError(
                f"{field}:{text} is no fingerprint: it has the digits 0 to 9 and a to f; mainstay dead lists them"
            )
    return Term(field, op, found)


def _labels(field: str, op: str, values: list[str], now: int) -> Term:
    found: list[str] = []
    for value in values:
        word = value.lower()
        if word not in LABELS and word not in GROUPS:
            raise _no_state(value)
        found += [label for label in GROUPS.get(word, (word,)) if label not in found]
    return Term(field, op, tuple(found))


def _no_state(word: str) -> UsageError:
    near = FOREIGN.get(word.lower()) or closest(word, [*LABELS, *GROUPS])
    hint = f'did you mean "{near}"? ' if near else ""
    return UsageError(
        f'there is no state "{word}"; {hint}there are: {", ".join(LABELS)}, and the groups {", ".join(GROUPS)}'
    )


def _numbers(field: str, op: str, values: list[str], now: int) -> Term:
    for text in values:
        if not re.fullmatch(r"-?[0-9]{1,18}", text):
            raise UsageError(f"{field}:{text} needs a whole number, e.g. {READERS[field][1]}")
    return Term(field, op, tuple(map(int, values)))


def _durations(field: str, op: str, values: list[str], now: int) -> Term:
    """Lengths of time, compared. `age:>1h` becomes `created` earlier than one hour ago."""
    text = values[0]
    if op == "=" and field == "age":
        raise UsageError(f"age: needs > or <: age:>{text} is older than that, age:<{text} is younger")
    if op == "=":
        raise UsageError(f"took: needs > or <, e.g. took:>{text}")
    try:
        length = milliseconds(text)
    except (ValueError, OverflowError):
        raise UsageError(f"{field}: {text!r} is not a duration; write 90s, 5m, 2h, 3d: {READERS[field][1]}") from None
    if field == "age":
        return Term("created", op.translate(_TURNED), (now - length,))
    return Term(field, op, (length,))


# Instants -----------------------------------------------------------------------------------------------------------


def _instants(field: str, op: str, values: list[str], now: int) -> Term:
    if op == "=":
        return Term(field, op, tuple(edge for text in values for edge in _span(field, text, now)))
    text = values[0]
    found = _moment(text, now)
    if found is None and text[:1].isdigit() and text[-1:] in "smhdw":
        raise UsageError(
            f"{field}:{op}{text} is ambiguous; write {field}:{text} for the time since then, age:>{text} for before"
        )
    if found is None:
        raise _no_instant(field, text)
    if op in {">", "<="}:  # after the end of the day or instant, or before it
        return Term(field, ">=" if op == ">" else "<", (found[1],))
    return Term(field, op, (found[0],))


def _span(field: str, text: str, now: int) -> tuple[int, int]:
    """Return from and until of a day, or of the time since a duration ago."""
    found = _moment(text, now)
    if found is None:
        try:
            return now - milliseconds(text), FOREVER
        except (ValueError, OverflowError):
            raise _no_instant(field, text) from None
    if found[1] - found[0] == 1:
        raise UsageError(f"{field}:{text} would match one millisecond only; compare instead: {field}:>={text}")
    return found


def _no_instant(field: str, text: str) -> UsageError:
    return UsageError(
        f"{field}: {text!r} is not a time; write today, yesterday, a day as 2026-01-31, an instant as 2026-01-31T09:30, "
        f"or 1h for the last hour"
    )


def _moment(text: str, now: int) -> tuple[int, int] | None:
    """Return the start and the end of an instant or a day. A day in local time may have 23 or 25 hours."""
    from datetime import datetime, timedelta

    try:
        if text.lower() in {"today", "yesterday"}:
            moment = datetime.fromtimestamp(now / 1000)  # noqa: DTZ006
            midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
            midnight -= timedelta(days=text.lower() == "yesterday")
        elif "T" in text:
            instant = _ms(datetime.fromisoformat(text))
            return instant, instant + 1
        else:
            midnight = datetime.strptime(text, "%Y-%m-%d")  # noqa: DTZ007
        return _ms(midnight), _ms(midnight + timedelta(days=1))
    except (ValueError, OverflowError, OSError):
        return None


def _ms(moment: datetime) -> int:
    """Return milliseconds since the epoch; a moment without a zone is in local time."""
    return round(moment.timestamp() * 1000)


# For each qualifier: what reads its values, and an example.
READERS: dict[str, tuple[Callable[[str, str, list[str], int], Term], str]] = {
    "id": (_ids, "id:01JQ93"), "type": (_words, "type:mail.*"), "queue": (_words, "queue:llm"),
    "state": (_labels, "state:dead,retrying"), "priority": (_numbers, "priority:>5"), "attempt": (_numbers, "attempt:>2"),
    "worker": (_words, "worker:wk7q2"), "key": (_words, "key:invoice-42"), "ref": (_words, "ref:profile/9"),
    "tenant": (_words, "tenant:acme/*"), "tag": (_words, "tag:eu"), "parent": (_ids, "parent:01JQ93"),
    "schedule": (_words, "schedule:nightly"), "fingerprint": (_prints, "fingerprint:7f3a"),
    "error": (_words, 'error:"connection refused"'), "code": (_words, "code:429"),
    "text": (_words, 'text:"connection refused"'),
    "args": (_words, "args.user.id:42"), "age": (_durations, "age:>1h"), "took": (_durations, "took:>30s"),
    "created": (_instants, "created:>=2026-01-31 created:<2026-02-02"), "finished": (_instants, "finished:today"),
}  # fmt: skip


def search(store: Store, query: str, limit: int, after: str | None, now: int, exact: bool) -> Page:
    """Return a page of the jobs that match; an `exact` search goes on until it is full or no job is left."""
    terms = parse(query, now)
    page = store.search(terms, limit, place(after), now)
    while exact and page.after is not None and len(page.ids) < limit:
        more = store.search(terms, limit - len(page.ids), page.after, now)
        page = more._replace(ids=page.ids + more.ids)
    return page
