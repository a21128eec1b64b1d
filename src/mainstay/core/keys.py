"""Uniqueness: the lock that a key takes, and until when."""

from __future__ import annotations

from .clock import milliseconds
from .errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clock import Duration

ON_CONFLICT = ("existing", "replace", "raise")
MAX_KEY = 500


def lock(type: str, key: str, unique: str, period: Duration | None, now: int) -> tuple[str, int | None]:
    """Return the text that must be unique for this key, and until when: None while the job is alive, 0 until it starts."""
    if not key or len(key) > MAX_KEY or not key.isprintable():
        raise UsageError(f"key={key[:40]!r}: a key has 1 to {MAX_KEY} printable characters")
    plain = f"{type}:{key}"
    if period is not None:
        length = milliseconds(period)
        if length <= 0:
            raise UsageError("period: give a duration above zero, e.g. period='1h'")
        bucket = now // length
        return f"{plain}\n{bucket}/{length}", (
            bucket + 1
        ) * length  # no key has a line feed, so no other key gives this text
    if unique not in ("alive", "start"):
        raise UsageError(f"unique={unique!r}: 'alive' (until the job has ended) or 'start' (until it starts)")
    return plain, (0 if unique == "start" else None)
