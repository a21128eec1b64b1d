"""Fingerprints of dead jobs: jobs of a type that died of the same error have the same one.

A fingerprint is a hash of the type, the class of the error, its message without what varies, and the nearest frame of the user's
code. The line number is left out: it changes with every edit of the file.
"""

from __future__ import annotations

import re
from hashlib import sha1
from typing import TYPE_CHECKING

from .dead import LENGTH
from .frames import top_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .job import Attempt, Job

LOOKED, KEPT = 2_000, 200  # characters of a message that are looked at, and of the normalised one
SEPARATOR = "\n"

_CLASS = re.compile(r"([A-Za-z_][\w.<>]*)(?:: |$)")
# In this order: each takes what those before it have left.
_VARYING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)(?:[^\s/@'\"]*@)?([^\s/:?#'\"<>)]*)[^\s'\"<>)]*", re.IGNORECASE), r"\1\2/<path>"),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "<mail>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    (re.compile(r"(?<![\w<])(['\"`])(?:\\.|(?!\1)[^\\])*\1(?!\w)"), "<text>"),
    (re.compile(r"(?<![\w/<])(?:[A-Za-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/]?"), "<path>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"(?<![\w.])[+-]?\d+(?:[.,:]\d+)*(?:e[+-]?\d+)?(?=[A-Za-z%]{0,2}(?!\w))", re.IGNORECASE), "<n>"),  # 30s, 1.5ms, 1e-6
    (re.compile(r"(?<![\w<])\w*\d\w*"), "<id>"),  # user_42, 01JQ93
)  # fmt: skip
_MANY = re.compile(r"<n>(?:[,; ]+<n>)+")


def normalised(message: str) -> str:
    """Return a message with placeholders for what varies between two errors of the same kind: numbers, ids, quoted texts, paths."""
    text = " ".join(message[:LOOKED].split())
    for pattern, placeholder in _VARYING:
        text = pattern.sub(placeholder, text)
    return _MANY.sub("<n>", text)[:KEPT].strip()


def fingerprint(type: str, error: str | None, traceback: str | None, reason: str | None) -> str:
    """Return the fingerprint of a dead job, by the error of its last attempt; of one without an error by the reason of its end."""
    if not error:
        return of_reason(type, reason or "")
    named = _CLASS.match(error)
    kind, message = (named[1], error[named.end() :]) if named else ("", error)
    frame = top_frame(traceback)
    return _hashed(type, kind, normalised(message), frame.place if frame else "")


def print_of(job: Job, attempts: Sequence[Attempt]) -> str:
    """Return the fingerprint of a dead job: by the attempt with which it died, or by the reason if it died otherwise."""
    last = attempts[-1] if attempts else None
    if last is None or last.ended_at != job.finished_at:
        return of_reason(job.type, job.reason or "")
    return fingerprint(job.type, last.error, last.traceback, job.reason)


def of_reason(type: str, reason: str) -> str:
    """Return the fingerprint of a job that did not die of an error: its parent died, a person rejected it."""
    return _hashed(type, "", normalised(reason), "")


def _hashed(*parts: str) -> str:
    text = SEPARATOR.join(parts).encode("utf-8", "replace")
    return sha1(text, usedforsecurity=False).hexdigest()[:LENGTH]
