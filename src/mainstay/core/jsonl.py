"""Jobs as lines of JSON: what `mainstay export` writes, what archives hold, and what `mainstay import` reads.

The first line is the header: `{"mainstay": "jobs", "format": 1, …}`. Files may be joined, so a header may come again. Each other
line is one job: its columns, attempts, log lines and operator actions. A column that is null is left out. Payloads, results and
other JSON are texts, exactly as the store has them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from . import ids, keys, review, rules
from .bulk import PLACE, PLAN
from .clock import iso
from .draft import Draft
from .errors import UsageError
from .export import ActionRecord, AttemptRecord, JobHistory, JobRecord, LogRecord
from .limits import set_rules
from .retention import AGES, expiry
from .retry import wait
from .states import COMPLETED, DEAD, ENDED, STATES

if TYPE_CHECKING:
    from collections.abc import Callable

    from .redaction import Redactor

FORMAT = 1
TRACEPARENT = r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"  # of W3C
WHAT = "jobs"
PARTS: dict[str, type[Any]] = {"attempts": AttemptRecord, "logs": LogRecord, "actions": ActionRecord}
LARGEST = 1 << 53  # of a number: some engines count in doubles
NO_JOB = ("rule", "setting")  # actions that concern no job
HIGHEST, LONGEST = 1_000, 200  # priority; characters of a name
# Texts that are JSON.
JSON = ("payload", "result", "checkpoint", "rules", "tags", "fields", "detail", "children", "review")
_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "str": (str,), "float": (int, float)}


# Writing --------------------------------------------------------------------------------------------------------------
def header(now: int, search: str = "", redacted: bool = False) -> str:
    """Return the first line of a file."""
    given = {"mainstay": WHAT, "format": FORMAT, "written_at": iso(now)} | ({"redacted": True} if redacted else {})
    return _dumps(given | {"search": search} if search else given)


def line(history: JobHistory, redactor: Redactor | None = None) -> str:
    """Return a job as one line, without secrets if there is a redactor."""
    if redactor is not None:
        parts = ([redactor.record(row) for row in getattr(history, name)] for name in PARTS)
        history = JobHistory(redactor.record(history.job), *parts)
    found = {name: [_given(row, "job") for row in getattr(history, name)] for name in PARTS if getattr(history, name)}
    return _dumps({"job": _given(history.job), **found})


def _given(row: Any, left_out: str = "") -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if value is not None and name != left_out}


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# Reading --------------------------------------------------------------------------------------------------------------
def parse(text: str) -> JobHistory | None:
    """Return the job of a line, None for a header. Raises `UsageError` that says what is wrong with the line."""
    found = _object(text)
    if "mainstay" in found:
        _check_header(found)
        return None
    unknown = found.keys() - {"job", *PARTS}
    if unknown or not isinstance(found.get("job"), dict):
        what = f"an unknown part {min(unknown)!r:.40}" if unknown else "no job"
        raise UsageError(f"it has {what}: mainstay export writes no such line")
    job = _job(found["job"])
    return JobHistory(job, *(_rows(name, found.get(name, []), job.id) for name in PARTS))


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("it is no object: mainstay export writes no such line")
    return found


def _check_header(found: dict[str, Any]) -> None:
    if found["mainstay"] != WHAT or type(found.get("format")) is not int:
        raise UsageError("mainstay export writes no such header")
    if found["format"] > FORMAT:
        raise UsageError(
            f"the file has format {found['format']}, and this mainstay reads up to {FORMAT}: upgrade mainstay here"
        )


def _job(given: dict[str, Any]) -> JobRecord:
    job: JobRecord = _record("job", JobRecord, given)
    for (name, rule), fits in _FITS.items():
        if not fits(job):
            raise UsageError(f"job.{name}: {getattr(job, name)!r:.60} {rule}")
    return job


def _rows(name: str, given: Any, job: str) -> list[Any]:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise UsageError(f"{name}: this is a list of objects")
    rows = [_record(name, PARTS[name], {**each, "job": job}) for each in given]
    if name == "actions":
        return [_action(row) for row in rows]
    places = {row.token if name == "attempts" else (row.token, row.n) for row in rows}
    if len(places) < len(rows):
        raise UsageError(f"{name}: two of them are the same one")
    return rows


def _action(row: ActionRecord) -> ActionRecord:
    """Return what an operator did, if people can be told of it. An operation that goes on elsewhere is not resumed here."""
    detail = json.loads(row.detail)
    if row.action in NO_JOB or not _are_details(detail):
        raise UsageError(f"actions: {row.action!r:.40} with {row.detail!r:.60} is nothing that is done to jobs")
    left = {name: value for name, value in detail.items() if name not in (PLACE, PLAN)}
    return row._replace(job=None if row.bulk else row.job, detail=row.detail if left == detail else _dumps(left))


def _are_details(found: Any) -> bool:
    if not isinstance(found, dict) or ("bulk" in found and not found.keys() >= _DETAILS.keys()):
        return False
    given = _json(found.get("with", "{}"))
    spans = [given.get(name, 0) for name in ("run_at", "stagger")] if isinstance(given, dict) else [None]
    fit = all(type(found[name]) in types for name, types in (_DETAILS | _MORE).items() if name in found)
    return fit and all(type(each) is int and 0 <= each < LARGEST for each in spans)


def _json(text: Any) -> Any:
    """Return what is in a JSON text; None: it is none."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None


def _record(what: str, kind: Any, given: dict[str, Any]) -> Any:
    """Return a record of a kind; raise for a name that it lacks, or a value that it cannot have."""
    hints = {name: hint.__forward_arg__.split(" ") for name, hint in kind.__annotations__.items()}
    for name in given.keys() - hints.keys():
        raise UsageError(
            f"{what}: there is no column {name!r:.40}; if a newer mainstay has written it, upgrade mainstay here"
        )
    for name, (of, *rest) in hints.items():
        value = given.get(name)
        if value is not None or not rest:
            _check(f"{what}.{name}", value, _TYPES[of])
        if name in JSON and value is not None:
            _check_json(f"{what}.{name}", value, texts=name == "tags")
    return kind(*(given.get(name) for name in kind._fields))


def _check(name: str, value: Any, types: tuple[type, ...]) -> None:
    fits = type(value) in types and (_storable(value) if isinstance(value, str) else -LARGEST < value < LARGEST)
    if not fits:
        wanted = "a text without NUL" if str in types else f"a number below {LARGEST:,}"
        raise UsageError(f"{name}: {value!r:.60} is not {wanted}")


def _storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _check_json(name: str, text: str, texts: bool) -> None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{name}: {text!r:.60} is no JSON") from None
    if texts and not (isinstance(found, list) and all(isinstance(each, str) and _storable(each) for each in found)):
        raise UsageError(f"{name}: {text!r:.60} is no list of texts")


def _is_id(text: Any) -> bool:
    return (
        isinstance(text, str) and ids.normal(text) == text and len(text) == ids.LENGTH and ids.prefix(text) is not None
    )


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST and text.isprintable()


def _is_backoff(text: str | None) -> bool:
    try:
        return wait(text, 1, float) >= 0
    except (ValueError, TypeError, OverflowError):
        return False


def _is_review(text: str | None) -> bool:
    if text is None:
        return True
    try:
        asked: Any = review.unpack(text)
    except (TypeError, ValueError, AttributeError, RecursionError):
        return False
    numbers = (asked.token, asked.at, *(each or 0 for each in (asked.expires_at, asked.remind, asked.remind_at)))
    texts = (asked.question, *asked.deciders)
    fits = (
        all(type(each) is int and 0 <= each < LARGEST for each in numbers) and asked.at_deadline in review.AT_DEADLINE
    )
    return fits and all(isinstance(each, str) and _storable(each) for each in texts)


def _are_rules(text: str | None) -> bool:
    found = json.loads(text or "{}")
    return isinstance(found, dict) and all(name in _RULES and _RULES[name](rule) for name, rule in found.items())


def _shaped(*types: type) -> Callable[[Any], bool]:
    def fits(given: Any) -> bool:
        if not isinstance(given, list) or len(given) != len(types):
            return False
        return all(
            type(each) in ((int, float) if of is float else (of,)) for each, of in zip(given, types, strict=True)
        )

    return fits


def _each(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda given: isinstance(given, list) and all(map(fits, given))


# What the line of an operation on many jobs has (`core.bulk`), and what else is read of a line.
_DETAILS: dict[str, tuple[type, ...]] = {"bulk": (str,), "search": (str,), "jobs": (int,), "matched": (int,)}
_MORE: dict[str, tuple[type, ...]] = {"from": (str, dict), "note": (str,), "refused": (dict,), "with": (str,)}
# What may be in the rules of a job (`core.rules`), and what must hold of its columns.
_RULES: dict[str, Callable[[Any], bool]] = {
    "limits": _each(_shaped(str, str, int)), "rates": _each(_shaped(str, str, int, int)),
    "breaker": _shaped(float, int, int), "fair": _shaped(str, str, float), "aged": _shaped(int, int),
    "after": lambda given: given in ("cancel", "run", "dead"), "parents": _each(_is_id),
    "start_by": lambda given: type(given) is int,
}  # fmt: skip
_FITS: dict[tuple[str, str], Callable[[JobRecord], bool]] = {
    ("id", "is no id"): lambda job: _is_id(job.id),
    ("state", "is no state"): lambda job: job.state in STATES,
    ("type", "is no name"): lambda job: _is_name(job.type),
    ("queue", "is no name"): lambda job: _is_name(job.queue),
    ("finished_at", "does not fit the state"): lambda job: (job.state in ENDED) == (job.finished_at is not None),
    ("token", "does not fit attempt, crashes or started_at"): lambda job: (
        max(job.attempt, job.crashes) <= job.token and (job.started_at is not None) == (job.token > 0)
    ),
    ("attempt", "or crashes is below zero"): lambda job: min(job.attempt, job.crashes) >= 0,
    ("max_attempts", "is below one"): lambda job: job.max_attempts >= 1,
    ("version", "is below one"): lambda job: job.version >= 1,
    ("priority", "is out of range"): lambda job: abs(job.priority) <= HIGHEST,
    ("timeout", "is not above zero"): lambda job: job.timeout is None or job.timeout > 0,
    ("keep", "or another age is below zero"): lambda job: all((getattr(job, name) or 0) >= 0 for name in AGES),
    ("keep_last", "is below one"): lambda job: job.keep_last is None or job.keep_last >= 1,
    ("key", "is no key"): lambda job: job.key is None or (0 < len(job.key) <= keys.MAX_KEY and job.key.isprintable()),
    ("reason", "is missing"): lambda job: job.state != DEAD or bool(job.reason),
    ("backoff", "is no wait"): lambda job: _is_backoff(job.backoff),
    ("schedule", "is no name"): lambda job: job.schedule is None or _is_name(job.schedule),
    ("trace", "is no traceparent"): lambda job: job.trace is None or re.fullmatch(TRACEPARENT, job.trace) is not None,
    ("review", "is no review"): lambda job: _is_review(job.review),
    ("rules", "are no rules of a job"): lambda job: _are_rules(job.rules),
}


# Importing ------------------------------------------------------------------------------------------------------------
def as_history(history: JobHistory, now: int, bulk: str = "") -> JobHistory:
    """Return an ended job as a bulk action imports it: it holds no key, waits for nothing, and is kept from now on."""
    job = history.job
    left = {
        name: rule for name, rule in rules.unpack(job.rules).items() if name not in ("after", "parents", "start_by")
    }
    changed = job._replace(
        worker=None, children=None, lock=None, lock_until=None, run_at=None, waits=None, start_by=None,
        rules=rules.pack(left), cancel_at=None if job.state == COMPLETED else job.cancel_at,
        expires_at=expiry(job.state, now, job._asdict()), bulks=" ".join(filter(None, [job.bulks, bulk])) or None,
    )  # fmt: skip
    return history._replace(job=changed)


def as_draft(job: JobRecord) -> Draft:
    """Return a job that had not ended as a draft with the same id, key, parents and time. Its attempts begin anew."""
    draft = Draft(**{name: value for name, value in job._asdict().items() if name in Draft.__slots__})
    draft.tags, draft.start_by = tuple(json.loads(job.tags or "[]")), None
    carried = rules.unpack(rules.without(job.rules, "start_by"))
    draft.after = tuple(carried.get("parents", ()))
    set_rules(draft, carried)
    draft.lock = None if job.key is None else keys.lock(job.type, job.key, "alive", None, 0)[0]
    draft.lock_until = None
    return draft
