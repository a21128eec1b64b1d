"""Durable background jobs for Python on SQLite, PostgreSQL and Redis, with the same promises on each.

Importing this package imports nothing else. Every name is loaded when it is first used, so that a hook that starts Python,
enqueues one job and exits takes little time.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .app import Mainstay as Mainstay
    from .context import ctx as ctx
    from .core.clock import ManualClock as ManualClock
    from .core.draft import Draft as Draft
    from .core.errors import (
        ConfigError as ConfigError,
        Conflict as Conflict,
        DuplicateKey as DuplicateKey,
        InvalidPayload as InvalidPayload,
        JobFailed as JobFailed,
        LeaseLost as LeaseLost,
        MainstayError as MainstayError,
        NotFound as NotFound,
        ResultTimeout as ResultTimeout,
        SchemaMismatch as SchemaMismatch,
        StoreBusy as StoreBusy,
        StoreCorrupt as StoreCorrupt,
        StoreError as StoreError,
        StoreFull as StoreFull,
        StoreReadOnly as StoreReadOnly,
        StoreUnavailable as StoreUnavailable,
        TransactionUnsupported as TransactionUnsupported,
        UnknownType as UnknownType,
        UsageError as UsageError,
    )
    from .core.outcome import Cancel as Cancel, Permanent as Permanent, Review as Review, Snooze as Snooze
    from .core.retry import Retry as Retry
    from .handle import Handle as Handle
    from .job import Job as Job

_ERRORS = (
    "ConfigError", "Conflict", "DuplicateKey", "InvalidPayload", "JobFailed", "LeaseLost", "MainstayError", "NotFound",
    "ResultTimeout", "SchemaMismatch", "StoreBusy", "StoreCorrupt", "StoreError", "StoreFull", "StoreReadOnly",
    "StoreUnavailable", "TransactionUnsupported", "UnknownType", "UsageError",
)  # fmt: skip
_HOMES = {
    "Mainstay": "app", "ctx": "context", "ManualClock": "core.clock", "Draft": "core.draft", "Job": "job",
    "Retry": "core.retry", "Handle": "handle", "Cancel": "core.outcome", "Permanent": "core.outcome",
    "Review": "core.outcome", "Snooze": "core.outcome", **dict.fromkeys(_ERRORS, "core.errors"),
}  # fmt: skip
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604  (names are made of strings)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'mainstay' has no attribute {name!r}")
    module = __import__(f"mainstay.{home}", fromlist=[name])
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
