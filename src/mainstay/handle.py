"""What an enqueue returns: the job's id, whether it is new, and ways to follow it."""

from __future__ import annotations

from .core.errors import JobFailed, JobGone, NotFound, ResultTimeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic, TypeVar

    from .app import Mainstay
    from .core.clock import Duration
    from .core.job import Job as StoredJob
    from .job import Job

    R = TypeVar("R")

    class _Typed(Generic[R]):
        pass
else:
    R = None

    class _Typed:
        def __class_getitem__(cls, item: object) -> type:
            return cls


class Handle(_Typed[R]):
    """One job, by its id. If `created` is False, its key was taken and this is the existing job."""

    __slots__ = ("_app", "created", "id")

    def __init__(self, app: Mainstay, job_id: str, created: bool = True) -> None:
        self._app, self.id, self.created = app, job_id, created

    def job(self) -> Job:
        """Read the job from the store and return it."""
        return self._app.get(self.id)

    @property
    def state(self) -> str:
        """The current state of the job."""
        return self.job().state

    def result(self, timeout: Duration | None = None) -> R:
        """Wait for the job to end and return its result; raises `JobFailed`, `ResultTimeout` or `JobGone`."""
        from .waiting import wait_for

        if self._app.kit is not None:
            self._app.kit.check_runs(self)
        try:
            return self._outcome(wait_for(self._app.store, self.id, timeout))
        except NotFound as error:
            raise self._gone(error) from None

    async def aresult(self, timeout: Duration | None = None) -> R:  # noqa: ASYNC109  (of the job, not of the task)
        """The async form of `result`: any number of them share one thread of the event loop's executor."""
        import asyncio

        from .waiting import await_end

        if self._app.kit is not None:
            self._app.kit.check_runs(self)
        try:
            job = await await_end(asyncio.get_running_loop(), self._app.store, self.id, timeout)
        except NotFound as error:
            raise self._gone(error) from None
        return await asyncio.to_thread(self._outcome, job)

    def _gone(self, error: NotFound) -> NotFound:
        """Return what a job that is missing means: one that had the key was there, and is not any more."""
        return error if self.created else JobGone(f"job {self.id} had the key, and was deleted or removed by retention")

    def _outcome(self, job: StoredJob | None) -> R:
        if job is None:
            raise ResultTimeout(f"job {self.id} has not ended yet; it is not cancelled")
        if job.state == "review":
            why = f"job {self.id} ({job.type}) waits for a decision: {job.reason}. Approve or reject it"
            raise JobFailed(why, job.state, job.id)
        if job.state != "completed":
            why = "; ".join(part for part in (job.reason, job.error) if part)
            raise JobFailed(f"job {self.id} ({job.type}) is {job.state}: {why or 'no reason given'}", job.state, job.id)
        value: R = self._app.decode_result(job.type, self._app.store.result(self.id))
        return value

    def cancel(self, actor: str = "python", *, tx: object = None, wait: Duration | None = None) -> str:
        """Cancel the job. Return `cancelled`, or `cancelling` for a running job. With `tx=` it takes effect with that commit.

        With `wait="30s"` it returns when the handler has ended, and raises `ResultTimeout` if it has not by then.
        """
        return self._app.cancel(self.id, tx=tx, actor=actor, wait=wait)

    async def acancel(self, actor: str = "python", *, tx: object = None, wait: Duration | None = None) -> str:
        """The async form of `cancel`; `tx=` is an async connection or session."""
        return await self._app.acancel(self.id, tx=tx, actor=actor, wait=wait)

    def __repr__(self) -> str:
        return f"<Handle {self.id}{'' if self.created else ' (existing)'}>"
