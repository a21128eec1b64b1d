"""Every exception of mainstay, in one hierarchy. A class's docstring is its default message; each message says what to do."""

from __future__ import annotations


class MainstayError(Exception):
    """Something went wrong in mainstay."""

    def __init__(self, message: str | None = None, attempt: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.attempt = attempt  # a command to try instead


class ConfigError(MainstayError):
    """The configuration is not valid."""


class UsageError(MainstayError):
    """The call is not valid."""


class InvalidPayload(MainstayError):
    """The payload does not fit the job type."""


class UnknownType(MainstayError):
    """No job type of that name is registered."""


class NotFound(MainstayError):
    """There is no such job."""


class JobGone(NotFound):
    """The job was removed by retention or deleted; the key that it took for ever outlives it."""


class Conflict(MainstayError):
    """The job's state does not allow this."""


class NotAllowed(MainstayError):
    """This actor may not do that."""


class DuplicateKey(Conflict):
    """A job with this key is already there."""

    def __init__(self, message: str | None = None, existing: str = "") -> None:
        super().__init__(message)
        self.existing = existing


class TypeDisabled(Conflict):
    """The type takes no jobs: an operator has disabled it."""


class QueueFull(Conflict):
    """The queue has as many waiting jobs as it may have.

    `how` says which rule refused the job: raise, wait (its time to wait was over), shed or sample.
    """

    def __init__(
        self,
        message: str | None = None,
        queue: str = "",
        depth: int = 0,
        max_depth: int = 0,
        how: str = "raise",
        wait: int = 0,
    ) -> None:
        super().__init__(message)
        self.queue, self.depth, self.max_depth, self.how = queue, depth, max_depth, how
        self.wait = wait  # ms that the caller may wait for room
        self.counted = False  # whether the store has counted for this: it keeps what it finds then


class LeaseLost(MainstayError):
    """This attempt no longer holds the job: another worker may be running it. Stop and write nothing."""


class TransactionUnsupported(UsageError):
    """This store cannot join that transaction."""


class JobFailed(MainstayError):
    """The job ended without a result."""

    def __init__(self, message: str | None = None, state: str = "", job_id: str = "") -> None:
        super().__init__(message)
        self.state = state
        self.job_id = job_id


class ResultTimeout(MainstayError, TimeoutError):
    """The job did not finish in the time allowed; it goes on."""


class ArchiveError(MainstayError):
    """The archive cannot be written."""


class SendFailed(MainstayError):
    """The message has not arrived, or nobody knows whether it has."""


class AddressRefused(SendFailed):
    """The message must not be sent there."""


class StoreError(MainstayError):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError):
    """The store cannot be reached. Nothing was lost; try again when it is back."""


class StoreBusy(StoreUnavailable):
    """Another process has held the store's write lock for too long; try again."""


class StoreFull(StoreUnavailable):
    """The disk is full. Free some space: mainstay goes on by itself."""


class StoreReadOnly(StoreError):
    """The store cannot be written."""


class StoreCorrupt(StoreError):
    """The store's file is damaged."""


class SchemaMismatch(StoreError):
    """The store was written by another version of mainstay."""


def refuse_nul(**texts: str) -> None:
    """Raise `UsageError` for a text with a NUL character: PostgreSQL cannot hold one, so no store takes it."""
    for name, text in texts.items():
        if "\0" in text:
            raise UsageError(f"{name}= has a NUL character, which stores refuse: {name}.replace('\\0', '')")
