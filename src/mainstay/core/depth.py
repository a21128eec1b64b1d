"""How deep a queue may be, and what happens to a job that finds it full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import QueueFull

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .draft import Draft

WHEN_FULL = ("raise", "wait", "shed", "sample")
ONE_IN = 10  # is kept of sampled jobs, if the queue does not say otherwise


def depth_meter(queue: str, what: str = "") -> str:
    """Return the meter of a queue's depth; or of when it was `counted`, or of how many were `sampled`."""
    return f"depth\n{queue}\n{what}" if what else f"depth\n{queue}"


def full(depth: int | None, limits: Mapping[str, Any], jobs: int) -> bool:
    """Return whether a queue has no room for so many jobs; True if its depth is not known."""
    return depth is None or depth + jobs > limits["max_depth"]


def refused(queue: str, limits: Mapping[str, Any], drafts: Sequence[Draft], meters: dict[str, int]) -> QueueFull | None:
    """Return the error for drafts that a full queue does not take, or None if it takes them; count one that is sampled."""
    depth = meters.get(depth_meter(queue), 0)
    if not full(depth, limits, len(drafts)):
        return None
    most, how = limits["max_depth"], limits.get("when_full", "raise")
    state = f"the queue {queue} is full: {depth} jobs wait, {most} may"
    if how == "sample":
        sampled, one_in = depth_meter(queue, "sampled"), limits.get("one_in", ONE_IN)
        meters[sampled] = meters.get(sampled, 0) + 1
        if meters[sampled] % one_in == 0:
            return None
        return QueueFull(f"{state}. One in {one_in} is kept; this one was not", queue, depth, most, how)
    below = limits.get("below", 0)
    if how == "shed" and min(draft.priority for draft in drafts) < below:
        return QueueFull(f"{state}. It sheds jobs with a priority below {below}", queue, depth, most, how)
    wait = limits.get("wait", 0) if how in ("wait", "shed") else 0
    advice = "Enqueue later, add workers, or raise it: mainstay queues set"
    return QueueFull(f"{state}. {advice} {queue} --max-depth N", queue, depth, most, "wait" if wait else "raise", wait)
