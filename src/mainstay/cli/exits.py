"""How a command ends: its exit code, and the one line that says what went wrong and what to do.

On the cold path of `mainstay enqueue`: nothing but the errors is imported.
"""

from __future__ import annotations

import os
import sys

from ..core import errors

OK, FAILED, USAGE, PARTIAL, MISSING, CONFLICT, STORE, DENIED, JOB_FAILED = range(9)
TIMEOUT, INTERRUPTED = 124, 130
MEANINGS = {
    OK: "ok", FAILED: "the operation failed, or unhealthy", USAGE: "wrong usage", PARTIAL: "degraded, or done in part",
    MISSING: "not found", CONFLICT: "the state does not allow it, or the key is taken", STORE: "the store cannot be reached",
    DENIED: "not allowed", JOB_FAILED: "the job waited for has failed", TIMEOUT: "time is over",
    INTERRUPTED: "interrupted",
}  # fmt: skip

# The first line that fits counts.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.NotFound, MISSING),
    (errors.Conflict, CONFLICT),
    (errors.JobFailed, JOB_FAILED),
    (errors.ResultTimeout, TIMEOUT),
    (errors.StoreReadOnly, DENIED),
    (errors.StoreError, STORE),
    (errors.UsageError, USAGE),
    (errors.ConfigError, USAGE),
    (errors.InvalidPayload, USAGE),
    (errors.UnknownType, USAGE),
    (errors.MainstayError, FAILED),
    (KeyboardInterrupt, INTERRUPTED),
)


class Hint(errors.UsageError):
    """A mistake in the command with a command that would be right."""

    def __init__(self, message: str, attempt: str) -> None:
        super().__init__(message)
        self.attempt = attempt


def code(error: BaseException) -> int:
    """The exit code for an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def report(error: BaseException, traceback: bool = False) -> int:
    """Say on stderr what went wrong and answer the exit code. A traceback is for those who ask for it."""
    if traceback:
        import traceback as tracebacks

        tracebacks.print_exception(error)
    known = isinstance(error, errors.MainstayError)
    message = str(error) if known else f"{type(error).__name__}: {error} (this is a bug in mainstay)"
    complain(message, getattr(error, "attempt", "") if known else "the same command with --traceback, and report it")
    return code(error)


def complain(message: str, attempt: str = "") -> None:
    """`error: …`, and what to try instead."""
    head = "\033[1;31merror:\033[0m" if coloured(sys.stderr) else "error:"
    lines = printable(message.strip()).split("\n")
    sys.stderr.write("\n  ".join([f"{head} {lines[0]}", *lines[1:]]) + "\n")
    if attempt:
        sys.stderr.write(f"  try: {printable(attempt)}\n")


def say(message: str) -> None:
    """A word to the person, on stderr: stdout carries data only."""
    sys.stderr.write(printable(message) + "\n")


def coloured(stream: object) -> bool:
    """Colour is for terminals, unless NO_COLOR or TERM=dumb ask for none."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(getattr(stream, "isatty", bool)())


def printable(text: str) -> str:
    """Text without control characters, so that what a job stored cannot steer the terminal; newlines stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
