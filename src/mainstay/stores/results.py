"""What the verbs of a store return, and the parts of a store that a worker holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..core.job import Claimed


class Claims(NamedTuple):
    """The result of a claim: the verdicts on the transitions that came with it, the jobs, and the wait until the next is due."""

    verdicts: list[str]
    jobs: list[Claimed]
    wait: int | None  # ms by the engine's clock; None: nothing is scheduled, or the claim was filled


class Renewal(NamedTuple):
    """The result of a renewal: whether the lease holds, the running jobs that were asked to stop, and what is asked of the worker."""

    alive: bool
    cancelling: list[tuple[str, int]]
    wanted: str | None = None  # drain or stop


class DueReview(NamedTuple):
    """A review about which something is due: its job, what it asks (`core.review`), the engine's time, and whether it waits for a decision."""

    id: str
    body: str
    now: int
    open: bool


class Orphan(NamedTuple):
    """A running job that its worker has lost: the worker is gone, or (not gone) the job is far past its timeout."""

    job: Claimed
    worker: str
    gone: bool
    begun: bool | None = True  # False: its worker died before the handler started; None: unknown
    alive: bool = False  # its worker is suspended or late, but its process exists on this machine


class Expired(NamedTuple):
    """An ended job whose retention is over. The store removes it only while it is as it was when this was returned."""

    seq: int | str
    id: str
    finished_at: int
    expires_at: int | None


class Pruned(NamedTuple):
    """The result of a removal: how many jobs, and for how many ms others had to wait: the transaction, or on Redis the server's time."""

    jobs: int
    ms: float


class Compacted(NamedTuple):
    """The result of a compaction: the size in bytes before and after it. `advice`: nothing was done, and what to do instead."""

    before: int = 0
    after: int = 0
    advice: str = ""


class StartedJobs:
    """The jobs that a worker runs at this moment, for a sweep after its death. Default: treat every claimed job as started."""

    def begin(self, job: Claimed) -> int:
        """Record that the handler is about to be called; return the place of the record, 0 for none."""
        return 0

    def end(self, mark: int) -> None:
        """Remove the record: the handler has ended."""


class Notifier(Protocol):
    """Wakes a worker when there may be something to do. A hint: a lost notification costs a poll, never a job."""

    def wait(self, timeout: int) -> str:
        """Block up to `timeout` ms; return what came: `""` nothing, `"jobs"`, `"cancel"`."""

    def close(self) -> None:
        """Stop listening."""


class SlotOffer(NamedTuple):
    """Room for one job: what is wanted, the caller's instant, and the function that takes the job."""

    wants: Mapping[str, Sequence[str]]
    now: int
    take: Callable[[list[Claimed]], None]


@runtime_checkable
class ClaimingNotifier(Notifier, Protocol):
    """A notifier that can claim a job as soon as it is notified."""

    def take(self, timeout: int, offer: SlotOffer) -> str:
        """As `wait`. If this raises, a job may have been claimed anyway."""
