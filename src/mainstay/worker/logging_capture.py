"""The standard `logging` module inside handlers: its records land in the job's log.

One handler stands on the root logger while a worker runs. Records that are logged outside a job, or by mainstay itself, pass it
untouched.
"""

from __future__ import annotations

import logging
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

from .. import log_values
from ..context import current
from ..core.updates import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

OFF = "off"
# A record is being written: its own records are left out.
_inside: ContextVar[bool] = ContextVar("mainstay.logging", default=False)
_lock = threading.Lock()


class LogCapture(logging.Handler):
    """Writes the records that handlers log by `logging` to the log of their job."""

    workers = 0
    level_before: int | None = None  # of the root logger, if it was changed

    def handle(self, record: logging.LogRecord) -> bool:
        """Write a record, without a lock: a report may wait for the store, and only its own handler may wait with it."""
        context = current.get(None)
        if context is not None and not _inside.get() and record.name.partition(".")[0] != "mainstay":
            held = _inside.set(True)
            try:
                context._write(_level(record.levelno), _message(record), {"logger": record.name})  # noqa: SLF001  (checks no level)
            except Exception:  # noqa: BLE001, S110  (a log line fails no attempt)
                pass
            finally:
                _inside.reset(held)
        if not _handled_by_others(record, self) and logging.lastResort and record.levelno >= logging.lastResort.level:
            logging.lastResort.handle(record)  # as `logging` does where nobody has set it up
        return True


def _level(number: int) -> str:
    """Return the level of a record: one of four, whatever levels a library has made."""
    return LEVELS[max(0, min(number // 10 - 1, len(LEVELS) - 1))]


def _message(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except Exception as error:  # noqa: BLE001  (arguments that do not fit, or whose own code raises)
        text = f"{log_values.as_text(record.msg, log_values.MESSAGE)} (its arguments raised {type(error).__name__})"
    if record.exc_info and record.exc_info[0] is not None:
        text += "\n" + (record.exc_text or logging.Formatter().formatException(record.exc_info))
    return text


def _handled_by_others(record: logging.LogRecord, own: logging.Handler) -> bool:
    """Return whether a record reaches a handler that the application has set up."""
    logger: logging.Logger | None = logging.getLogger(record.name)
    while logger is not None:
        if any(each is not own for each in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


_capture = LogCapture()


def capture_logging(level: str) -> Callable[[], None]:
    """Write the records of `logging` from this level on to the log of the job that runs; return what ends that.

    Where the application has not set up `logging`, records of that level are made from now on. Where it has, its levels decide
    which are.
    """
    if level == OFF:
        return lambda: None
    root, threshold = logging.getLogger(), getattr(logging, level.upper())
    with _lock:
        _capture.workers += 1
        _capture.setLevel(threshold)
        if _capture not in root.handlers:
            if not root.handlers and root.level > threshold:
                _capture.level_before = root.level
                root.setLevel(threshold)
            root.addHandler(_capture)
    return _release


def _release() -> None:
    root = logging.getLogger()
    with _lock:
        _capture.workers -= 1
        if _capture.workers:
            return
        root.removeHandler(_capture)
        if _capture.level_before is not None:
            root.setLevel(_capture.level_before)
            _capture.level_before = None
