"""Exit codes, and error messages that say what went wrong and what to do.

`mainstay enqueue` imports this on its fast path, so it imports nothing but the errors.
"""

from __future__ import annotations

import errno
import os
import sys

from ..core import errors

OK, FAILED, USAGE, PARTIAL, MISSING, CONFLICT, STORE, DENIED, JOB_FAILED = range(9)
TIMEOUT, INTERRUPTED = 124, 130
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of a disk
MEANINGS = {
    OK: "ok", FAILED: "the operation failed, or a check failed", USAGE: "wrong usage", PARTIAL: "done in part, or with warnings",
    MISSING: "not found", CONFLICT: "the state does not allow it, or the key is taken", STORE: "the store cannot be reached",
    DENIED: "not allowed", JOB_FAILED: "the job that was waited for failed", TIMEOUT: "timed out",
    INTERRUPTED: "interrupted",
}  # fmt: skip

# The first class that matches decides; without one it is FAILED.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.NotFound, MISSING),
    (errors.Conflict, CONFLICT),
    (errors.JobFailed, JOB_FAILED),
    (errors.ResultTimeout, TIMEOUT),
    (errors.NotAllowed, DENIED),
    (errors.StoreReadOnly, DENIED),
    (errors.StoreError, STORE),
    (KeyboardInterrupt, INTERRUPTED),
    *(
        (mistake, USAGE)
        for mistake in (errors.UsageError, errors.ConfigError, errors.InvalidPayload, errors.UnknownType)
    ),
)


def code(error: BaseException) -> int:
    """Return the exit code for an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def report(error: BaseException, traceback: bool = False) -> int:
    """Print an error to stderr, with its traceback if asked for, and return the exit code."""
    if traceback:
        import traceback as tracebacks

        sys.stderr.write(shown("".join(tracebacks.format_exception(error))))
    if isinstance(error, errors.MainstayError):
        complain(explained(error), error.attempt)
    elif isinstance(error, OSError) and error.errno in FULL:
        complain(f"{error.strerror}: what was written is not complete", "the same command when there is room for it")
    else:
        bug = f"{type(error).__name__}: {error} (this is a bug in mainstay)"
        complain(bug, "the same command with --traceback, and report it")
    return code(error)


def from_source(error: errors.MainstayError, url: str, source: str) -> errors.MainstayError:
    """Return the error with a note that says where the URL of its store comes from."""
    if source:
        from ..core.masking import masked

        error.add_note(f"the store is {masked(url)}, from {source}")
    return error


def explained(error: BaseException) -> str:
    """Return the message of an error, and its notes below it."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def complain(message: str, attempt: str = "") -> None:
    """Print `error: …` to stderr, and what to try instead."""
    head = "\033[1;31merror:\033[0m" if coloured(sys.stderr) else "error:"
    lines = shown(message.strip()).split("\n")
    sys.stderr.write("\n  ".join([f"{head} {lines[0]}", *lines[1:]]) + "\n")
    if attempt:
        sys.stderr.write(f"  try: {shown(attempt)}\n")


def say(message: str) -> None:
    """Print a message to stderr: stdout is for data only."""
    sys.stderr.write(shown(message) + "\n")


def coloured(stream: object) -> bool:
    """Whether to use colour: on terminals, unless NO_COLOR or TERM=dumb is set."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(getattr(stream, "isatty", bool)())


def shown(text: str) -> str:
    """Return a text as a person may see it: without secrets, and with control characters escaped."""
    from ..redacting import redactor

    return printable(redactor().text(text))


def printable(text: str) -> str:
    """Return the text with control characters escaped, except newlines and tabs: stored text must not control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
