"""The application object: defines job types, enqueues jobs, reads and operates them."""

from __future__ import annotations

from .core.clock import SystemClock
from .core.draft import Draft, distinct, prepared
from .core.errors import QueueFull, UsageError
from .core.events import Events, Hooked
from .core.payload import MAX_BYTES, decode_result, encode
from .flow import control
from .handle import Handle
from .options import Options, checked_name
from .questions import Questions
from .stores import existing, open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from typing import Any, Literal, ParamSpec, TypeVar, Unpack, overload

    from .control.bulk import Bulk, Operation
    from .control.bulk_run import Progress, Report
    from .control.edits import Function
    from .control.records import ReviewRecord
    from .core.clock import Clock, Duration
    from .core.job import Action, Attempt, Job as StoredJob, LogLine
    from .core.search_terms import Page
    from .job import Job
    from .job_decorator import BatchDecorator, Decorator, TypeOptions
    from .options import JobOptions, WorkerOptions
    from .registry import JobType, Registry
    from .stores.contract import Store
    from .testing.kit import Kit
    from .worker.drained import Drained
    from .worker.worker import Worker

    P = ParamSpec("P")
    R = TypeVar("R")


CHUNK = 1_000  # jobs per transaction of enqueue_many


class Mainstay(Questions, Hooked):
    """One installation of mainstay: a store and the job types of this program.

    `Mainstay("sqlite:///jobs.db")`; without a URL it is taken from `MAINSTAY_URL` or the settings file. Nothing is opened
    or created before the first job is enqueued or a worker starts.
    """

    def __init__(
        self, url: str | None = None, *, max_payload: int = MAX_BYTES, clock: Clock | None = None,
        store: Store | None = None, read_url: str | None = None,
    ) -> None:  # fmt: skip
        self.max_payload = max_payload  # bytes of JSON
        self.clock: Clock = clock or SystemClock()
        self.events = Events()
        if store is None and not url:
            from .configured_store import configured_store

            store = configured_store(clock)
        self.store: Store = store or open_store(str(url), clock)
        self._replica: Store | None = open_store(existing(read_url), clock) if read_url else None
        self._registry: Registry | None = None
        self.kit: Kit | None = None  # the test kit that has replaced the store and the clock

    @property
    def reader(self) -> Store:
        """The store that `list` and `search` read: the replica `read_url`, if there is one."""
        return self.store if self._replica is None or self.kit is not None else self._replica

    @property
    def registry(self) -> Registry:
        """The job types of this application."""
        if self._registry is None:
            from .registry import Registry

            self._registry = Registry()
        return self._registry

    # define -------------------------------------------------------------------------------------------------------
    if TYPE_CHECKING:

        @overload
        def job(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> JobType[P, R, Coroutine[Any, Any, R]]: ...
        @overload
        def job(self, function: Callable[P, R], /) -> JobType[P, R, R]: ...
        @overload
        def job(self, *, process: bool = ..., **options: Unpack[TypeOptions]) -> Decorator: ...
        @overload
        def job(self, *, batch: int, wait: Duration = ..., **options: Unpack[TypeOptions]) -> BatchDecorator: ...
        def job(self, *function: Any, **given: Any) -> Any:
            """Make a function a job type: `@app.job` or `@app.job(queue="mail", retry=Retry(5), timeout="2m")`."""
    else:

        def job(self, function: Any = None, /, *, name: str | None = None, **given: Any) -> Any:
            """Make a function a job type: `@app.job` or `@app.job(queue="mail", retry=Retry(5), timeout="2m")`."""
            if function is None:
                return lambda function: self._register(function, name, dict(given))
            return self._register(function, name, given)

    def _register(self, function: Any, name: str | None, given: dict[str, Any]) -> Any:
        from .registry import JobType

        if not callable(function):
            raise UsageError(f"@app.job needs a function, not {function!r}; options go by name: @app.job(queue=…)")
        made: JobType[..., Any, Any] = JobType(self, function, name or function.__name__, given)
        self.registry.add(made)
        self.declares = self.declares or made.flow is not None
        return made

    def prepare(self, type: str, payload: Mapping[str, Any] | None = None, **options: Unpack[JobOptions]) -> Draft:
        """Return a job by the name of its type, not enqueued yet: for `enqueue_many`, or for a schedule."""
        return self._draft(type, payload, options)

    # produce ------------------------------------------------------------------------------------------------------
    def enqueue(
        self, job: str | Draft, payload: Mapping[str, Any] | None = None, *, tx: object = None,
        **options: Unpack[JobOptions],
    ) -> Handle[Any]:  # fmt: skip
        """Enqueue a prepared job, or one by the name of its type, also from a program that lacks the code.

        The payload is checked here if the code is here, else by the worker. With `tx=` it commits with that transaction.
        """
        return self._accept([self._draft(job, payload, options)], tx)[0]

    async def aenqueue(
        self, job: str | Draft, payload: Mapping[str, Any] | None = None, *, tx: object = None,
        **options: Unpack[JobOptions],
    ) -> Handle[Any]:  # fmt: skip
        """As `enqueue`, awaited; `tx=` is then an async connection or session."""
        return (await self._aaccept([self._draft(job, payload, options)], tx))[0]

    def enqueue_many(self, drafts: Iterable[Draft], *, tx: object = None) -> list[Handle[Any]]:
        """Enqueue prepared jobs, a thousand per transaction, or all with `tx=`; handles are in the order of the drafts."""
        from itertools import islice

        ready = map(prepared, drafts)
        if tx is not None:
            return self._accept(list(ready), tx)
        handles: list[Handle[Any]] = []
        while batch := list(islice(ready, CHUNK)):
            handles += self._accept(batch, None)
        return handles

    async def aenqueue_many(self, drafts: Iterable[Draft], *, tx: object = None) -> list[Handle[Any]]:
        """As `enqueue_many`, awaited; `tx=` is then an async connection or session."""
        if tx is not None:
            return await self._aaccept(list(map(prepared, drafts)), tx)
        import asyncio

        return await asyncio.to_thread(self.enqueue_many, drafts)

    def _draft(self, job: str | Draft, payload: Mapping[str, Any] | None, options: JobOptions) -> Draft:
        if not isinstance(job, str):
            if payload is not None or options:
                raise UsageError("a prepared job has its payload and options already: give them to prepare or options")
            return prepared(job)
        given = Options(options)
        known = self._registry.get(job) if self._registry is not None else None
        if known is not None:
            text = known.schema.encode_mapping(payload or {}, self.max_payload)
            return known.draft_of(text, given.with_defaults(known.defaults))
        given.check_key()
        draft = given.draft(checked_name(job), encode(payload or {}, self.max_payload), self.clock.now())
        draft.undeclared = (*given.values, *given.relative)
        return draft

    def _accept(self, drafts: list[Draft], tx: object) -> list[Handle[Any]]:
        drafts = distinct(drafts)
        if tx is not None:
            from .stores import outbox

            now = self.clock.now()
            return self._handles(drafts, outbox.run(self.store, tx, lambda verbs: verbs.enqueue(drafts, now)))
        try:
            return self._send(drafts)
        except QueueFull as error:
            return control.room.wait_for_room(lambda: self._send(drafts), drafts, error, self)

    async def _aaccept(self, drafts: list[Draft], tx: object) -> list[Handle[Any]]:
        drafts = distinct(drafts)
        if tx is not None:
            from .stores import outbox

            now = self.clock.now()
            return self._handles(drafts, await outbox.arun(self.store, tx, lambda verbs: verbs.enqueue(drafts, now)))
        import asyncio

        try:
            return await asyncio.to_thread(self._send, drafts)
        except QueueFull as error:
            return await control.room.await_room(lambda: self._send(drafts), drafts, error, self)

    def _send(self, drafts: list[Draft]) -> list[Handle[Any]]:
        """Enqueue drafts, after what this program declares of their types and queues is in the store."""
        if self.declares or self.queue_rules:
            control.declared.declare(self, drafts)
        return self._handles(drafts, self.store.enqueue(drafts, self.clock.now()))

    def _handles(self, drafts: list[Draft], accepted: Sequence[tuple[str, bool]]) -> list[Handle[Any]]:
        for draft in drafts:
            draft.accepted = True
        if self.events.listeners("enqueued"):
            self.events.emit("enqueued", ids=[job_id for job_id, created in accepted if created])
        return [Handle(self, job_id, created) for job_id, created in accepted]

    # look ---------------------------------------------------------------------------------------------------------
    def get(self, job_id: str | Handle[Any]) -> Job:
        """Return one job by its id, or by a prefix that no other job has."""
        from .job import job_of

        return job_of(self._stored(job_id), self.store)

    def _stored(self, job_id: str | Handle[Any]) -> StoredJob:
        from .waiting import stored

        return stored(self.store, self.resolve(job_id))

    def resolve(self, job: str | Handle[Any]) -> str:
        """Return the full id of a handle, a prefix or both ends (`01JQ93…0A`); raise `NotFound` or `UsageError`."""
        from .short_ids import full_id

        return full_id(self.store, job if isinstance(job, str) else job.id)

    def decode_result(self, type: str, text: str | None) -> Any:
        """Return a stored result: by the return type that the handler declares if its code is here, else as plain JSON."""
        known = self._registry.get(type) if self._registry is not None else None
        return decode_result(text) if known is None else known.schema.decode_result(text)

    def handle(self, job_id: str | Handle[Any]) -> Handle[Any]:
        """Return a handle to a job that was enqueued elsewhere."""
        return Handle(self, self._stored(job_id).id, created=False)

    def list(self, query: str = "", limit: int = 50, after: str | None = None) -> list[Job]:
        """Return the jobs that match a search such as `type:resize state:dead age:>1h`, newest first."""
        from .job import job_of

        ids = self.search(query, limit, after, exact=True).ids
        return [job_of(job, self.reader) for job in self.reader.get_many(ids)]

    def search(self, query: str = "", limit: int = 50, after: str | None = None, *, exact: bool = False) -> Page:
        """Return the ids that match a search, where the next page starts, and how far a text search looked.

        A text search looks at the newest jobs and returns what it found there. An `exact` one continues until the page is full
        or no job is left.
        """
        from .query import search

        return search(self.reader, query, limit, after, self.clock.now(), exact)

    def attempts(self, job_id: str | Handle[Any]) -> Sequence[Attempt[datetime]]:
        """Return every attempt at a job, oldest first."""
        return self._each(self.store.attempts(self._stored(job_id).id))

    def logs(self, job_id: str | Handle[Any], after: int = 0, limit: int = 10_000) -> Sequence[LogLine[datetime]]:
        """Return a job's log."""
        return self._each(self.store.logs(self._stored(job_id).id, after, limit))

    def _each(self, found: Iterable[Any]) -> Sequence[Any]:
        from .job import each_of

        return each_of(found)

    def actions(self, job_id: str | Handle[Any] | None = None, limit: int = 100) -> Sequence[Action[datetime]]:
        """Return what operators did, newest first."""
        return self._each(self.store.actions(None if job_id is None else self.resolve(job_id), limit))

    # operate ------------------------------------------------------------------------------------------------------
    def cancel(
        self, job_id: str | Handle[Any], *, tx: object = None, actor: str = "python", wait: Duration | None = None
    ) -> str:
        """Cancel a job; return `cancelled` or, for a running job, `cancelling`. With `tx=` it commits with that transaction.

        With `wait="30s"` it returns `cancelled` when the handler has ended, and raises `ResultTimeout` if it has not by then.
        """
        from .cancelling import cancel

        return cancel(self, job_id, tx, actor, wait)

    async def acancel(
        self, job_id: str | Handle[Any], *, tx: object = None, actor: str = "python", wait: Duration | None = None
    ) -> str:
        """As `cancel`, awaited; `tx=` is then an async connection or session."""
        from .cancelling import acancel

        return await acancel(self, job_id, tx, actor, wait)

    def retry(
        self, job_id: str | Handle[Any], note: str = "", *, actor: str = "python", roles: Sequence[str] = ()
    ) -> str:
        """Run a dead, cancelled, reviewed or scheduled job now, with fresh attempts. `NotAllowed`: another decides its review."""
        return control.reviews.retry(self, self._stored(job_id), note, actor, roles)

    def copy(self, job_id: str | Handle[Any]) -> Handle[Any]:
        """Enqueue a copy of a job that has ended: the same arguments and policy, no key. Its `parent` is the first job."""
        from .job import copy_of_ended

        return self._accept([copy_of_ended(self._stored(job_id))], None)[0]

    def delete(self, job_id: str | Handle[Any], *, actor: str = "python") -> str:
        """Remove a job that does not run, with its history."""
        from .refusals import checked

        full = self.resolve(job_id)
        return checked("delete", full, self.store.delete([full], self.clock.now(), actor)[full])

    def approve(
        self, job_id: str | Handle[Any], note: str = "", *, output: Any = ..., actor: str = "python", roles: Sequence[str] = ()
    ) -> str:  # fmt: skip
        """Complete a job in review with the output that it proposed, or with another. Raises `NotAllowed` if another is to decide."""
        return control.reviews.resolve(self, self._stored(job_id), True, note, actor, roles, output)

    def reject(
        self, job_id: str | Handle[Any], note: str = "", *, actor: str = "python", roles: Sequence[str] = ()
    ) -> str:
        """End a job in review as dead. Raises `NotAllowed` if another is to decide."""
        return control.reviews.resolve(self, self._stored(job_id), False, note, actor, roles)

    def reviews(self, limit: int = 50, after: str | None = None) -> Sequence[ReviewRecord]:
        """Return the jobs in review, the oldest job first; `after` is the id of the last one of the page before."""
        return control.reviews.reviews(self, limit, after)

    def bulk(
        self, search: str = "", *, ids: Iterable[str | Handle[Any]] | None = None, everything: bool = False
    ) -> Bulk:
        """Return the jobs that a search finds, or those of these ids, to act on: `app.bulk("state:dead").retry()`."""
        return control.bulk.chosen(self, search, ids, everything)

    def bulk_operations(self, *, finished: bool = False) -> Sequence[Operation]:
        """Return the operations on many jobs that were stopped or go on now, newest first; with `finished` all."""
        return control.bulk.operations(self, finished)

    def bulk_resume(
        self, operation: str, *, actor: str = "python", progress: Callable[[Progress], object] | None = None,
        amend: Function | None = None, roles: Sequence[str] = (),
    ) -> Report:  # fmt: skip
        """Go on with an operation that was stopped, from the place that it has reached; each job is changed once.

        An operation that amends by a function needs that function again. An actor who has not begun it gives his own roles.
        """
        return control.bulk.resume(self, operation, actor, progress, amend, roles)

    # run ----------------------------------------------------------------------------------------------------------
    def worker(self, **options: Unpack[WorkerOptions]) -> Worker:
        """Return a worker for this process: `with app.worker(concurrency=8): …`."""
        from .worker.worker import Worker

        return Worker(self, **options)

    def drain(
        self, *, max_jobs: int | None = None, max_seconds: Duration | None = None, **options: Unpack[WorkerOptions]
    ) -> Drained:
        """Run what is due, and what that enqueues, until nothing is; return how many attempts ended how, and what is left.

        For cron hosts and serverless functions. It claims `max_jobs` jobs at most, and returns within `max_seconds`: what has
        not finished by then is released, with no attempt spent. It waits for no job that is due later. The options are those of `worker`.
        """
        from .worker.one_shot import drain

        return drain(self, max_jobs, max_seconds, **options)

    def testing(self, mode: Literal["manual", "inline"] = "manual") -> AbstractContextManager[Kit]:
        """Use a store in memory and a clock to move, inside a `with`; `inline` runs each job as it is enqueued."""
        from .testing.kit import testing

        return testing(self, mode)

    def close(self) -> None:
        """Close the store's connections."""
        for store in filter(None, (self.store, self._replica)):
            store.close()
