"""Durable background jobs for Python on SQLite, PostgreSQL and Redis, with the same promises on each.

Importing this package imports nothing else. Every name is loaded when it is first used, so that a hook that starts Python,
enqueues one job and exits takes little time.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .app import Mainstay  # noqa: I001  (the errors as one block)
    from .context import ctx
    from .core.clock import ManualClock
    from .core.draft import Draft
    from .core.errors import (
        ConfigError, Conflict, DuplicateKey, InvalidPayload, JobFailed, JobGone, LeaseLost, MainstayError, NotAllowed,
        NotFound, QueueFull, ResultTimeout, SchemaMismatch, StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly,
        StoreUnavailable, TransactionUnsupported, TypeDisabled, UnknownType, UsageError,
    )  # fmt: skip
    from .core.failures import transient
    from .core.fields import by, by_payload
    from .core.job_event import JobEvent
    from .core.limits import Breaker, Limit
    from .core.outcome import Cancel, Permanent, Review, Snooze
    from .core.retention import Keep
    from .core.retry import Retry
    from .handle import Handle
    from .job import Job
    from .web.roles import Access

_HOMES = {
    "Mainstay": "app", "ctx": "context", "ManualClock": "core.clock", "Draft": "core.draft", "Job": "job", "JobEvent": "core.job_event",
    "Keep": "core.retention", "Retry": "core.retry", "Handle": "handle", "Cancel": "core.outcome", "Permanent": "core.outcome",
    "Review": "core.outcome", "Snooze": "core.outcome", "transient": "core.failures",
    "by": "core.fields", "by_payload": "core.fields", "Breaker": "core.limits", "Limit": "core.limits", "Access": "web.roles",
}  # fmt: skip
__all__ = [
    "Access", "Breaker", "Cancel", "ConfigError", "Conflict", "Draft", "DuplicateKey", "Handle", "InvalidPayload", "Job",
    "JobEvent", "JobFailed", "JobGone", "Keep", "LeaseLost", "Limit", "Mainstay", "MainstayError", "ManualClock", "NotAllowed",
    "NotFound", "Permanent", "QueueFull", "ResultTimeout", "Retry", "Review", "SchemaMismatch", "Snooze", "StoreBusy",
    "StoreCorrupt", "StoreError", "StoreFull", "StoreReadOnly", "StoreUnavailable", "TransactionUnsupported",
    "TypeDisabled", "UnknownType", "UsageError", "__version__", "by", "by_payload", "ctx", "transient",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'mainstay' has no attribute {name!r}")
    module = __import__(f"mainstay.{_HOMES.get(name, 'core.errors')}", fromlist=[name])
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
