"""Jobs as lines of JSON: what `mainstay export` writes, what archives hold, and what `mainstay import` reads.

The first line is the header: `{"mainstay": "jobs", "format": 1, …}`. Files may be joined, so a header may come again. Each other
line is one job: its columns, attempts, log lines and operator actions. A column that is null is left out. Payloads, results and
other JSON are texts, exactly as the store has them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import ids, rules
from .clock import iso
from .errors import UsageError
from .export import ActionRecord, AttemptRecord, JobHistory, JobRecord, LogRecord
from .retention import expiry
from .states import ENDED, STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = 1
WHAT = "jobs"
PARTS: dict[str, type[Any]] = {"attempts": AttemptRecord, "logs": LogRecord, "actions": ActionRecord}
LARGEST = 1 << 53  # of a number: some engines count in doubles
HIGHEST = 1_000  # priority
JSON = ("payload", "result", "checkpoint", "rules", "tags", "fields", "detail", "children")  # texts that are JSON
_OF_WAITING = ("after", "parents", "start_by")  # rules of one wait
_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "str": (str,), "float": (int, float)}


def header(now: int, search: str = "") -> str:
    """Return the first line of a file."""
    return _dumps(
        {"mainstay": WHAT, "format": FORMAT, "written_at": iso(now), **({"search": search} if search else {})}
    )


def line(history: JobHistory) -> str:
    """Return a job as one line."""
    job, *parts = history
    found = {name: [_given(row, "job") for row in rows] for name, rows in zip(PARTS, parts, strict=True) if rows}
    return _dumps({"job": _given(job), **found})


def _given(row: Any, left_out: str = "") -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if value is not None and name != left_out}


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# Reading --------------------------------------------------------------------------------------------------------------
def parse(text: str) -> JobHistory | None:
    """Return the job of a line, None for a header. Raises `UsageError` that says what is wrong with the line."""
    found = _object(text)
    if "mainstay" in found:
        return _check_header(found)
    unknown = found.keys() - {"job", *PARTS}
    if unknown or not isinstance(found.get("job"), dict):
        what = f"an unknown part {min(unknown)!r:.40}" if unknown else "no job"
        raise UsageError(f"it has {what}: it is no line of mainstay export")
    job = _job(found["job"])
    parts = [_rows(name, kind, found.get(name, []), job.id) for name, kind in PARTS.items()]
    return JobHistory(job, *parts)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("it is no object: it is no line of mainstay export")
    return found


def _check_header(found: dict[str, Any]) -> None:
    if found["mainstay"] != WHAT or type(found.get("format")) is not int:
        raise UsageError("the header is not one of mainstay export")
    if found["format"] > FORMAT:
        raise UsageError(
            f"the file has format {found['format']}, and this mainstay reads up to {FORMAT}: upgrade mainstay here"
        )


def _job(given: dict[str, Any]) -> JobRecord:
    job: JobRecord = _record("job", JobRecord, given)
    if ids.normal(job.id) != job.id or len(job.id) != ids.LENGTH or ids.prefix(job.id) is None:
        raise UsageError(f"job: {job.id!r:.60} is no id")
    if job.state not in STATES:
        raise UsageError(f"job: there is no state {job.state!r:.40}")
    if (job.state in ENDED) != (job.finished_at is not None):
        raise UsageError(
            f"job: a {job.state} job has {'no' if job.finished_at is not None else 'an'} end (finished_at)"
        )
    if not 0 <= job.attempt <= job.token or not 0 <= job.crashes <= job.token or job.max_attempts < 1:
        raise UsageError("job: its numbers of attempts and crashes do not fit its token")
    if (job.started_at is not None) != (job.token > 0) or abs(job.priority) > HIGHEST:
        raise UsageError("job: its start does not fit its token, or its priority is out of range")
    return job


def _rows(name: str, kind: Any, given: Any, job: str) -> list[Any]:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise UsageError(f"{name}: this is a list of objects")
    own = {} if name == "actions" else {"job": job}
    rows = [_record(name, kind, {**each, **own}) for each in given]
    if name != "actions":
        return sorted(
            {row[1:3] if name == "logs" else row.token: row for row in rows}.values(), key=lambda row: row[1:3]
        )
    return [row if row.bulk else row._replace(job=job) for row in rows]


def _record(what: str, kind: Any, given: dict[str, Any]) -> Any:
    """Return a record of a kind; raise for a name that it lacks, or a value that it cannot have."""
    hints = {name: hint.__forward_arg__.split(" ") for name, hint in kind.__annotations__.items()}
    for name in given.keys() - hints.keys():
        raise UsageError(
            f"{what}: there is no column {name!r:.40}; a newer mainstay may have written it: upgrade mainstay"
        )
    for name, (of, *rest) in hints.items():
        _check(f"{what}.{name}", given.get(name), _TYPES[of], optional=bool(rest) or (what, name) == ("actions", "job"))
        if name in JSON and given.get(name) is not None:
            _check_json(f"{what}.{name}", given[name], list if name == "tags" else None)
    return kind(*(given.get(name) for name in kind._fields))


def _check(name: str, value: Any, types: tuple[type, ...], optional: bool) -> None:
    if value is None and optional:
        return
    fits = type(value) in types and (isinstance(value, str) or -LARGEST < value < LARGEST)
    if not fits or (isinstance(value, str) and not _storable(value)):
        wanted = "a text without NUL" if str in types else f"a number below {LARGEST:,}"
        raise UsageError(f"{name}: {value!r:.60} is not {wanted}")


def _storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _check_json(name: str, text: str, kind: type | None) -> None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{name}: {text!r:.60} is no JSON") from None
    if kind is not None and not (isinstance(found, kind) and all(isinstance(each, str) for each in found)):
        raise UsageError(f"{name}: {text!r:.60} is no list of texts")


# Importing ------------------------------------------------------------------------------------------------------------
def as_history(history: JobHistory, now: int) -> JobHistory:
    """Return an ended job as it is imported: it holds no key, waits for nothing, and is kept from now on."""
    job = history.job
    left = {name: rule for name, rule in rules.unpack(job.rules).items() if name not in _OF_WAITING}
    until = expiry(job.state, now, job._asdict())
    changed = job._replace(
        worker=None, lock=None, lock_until=None, run_at=None, waits=None, start_by=None, expires_at=until,
        rules=rules.pack(left), cancel_at=None if job.state == "completed" else job.cancel_at,
    )  # fmt: skip
    return history._replace(job=changed)


def distinct(histories: Sequence[JobHistory]) -> list[JobHistory]:
    """Return the histories, of each job the last: an archive may have it twice, after a crash or a retry."""
    return list({history.job.id: history for history in histories}.values())
