"""The log of a worker on stderr: one line for each event of the application, as text or JSON."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from ..context import current
from ..core.clock import human, iso
from .exits import coloured, printable
from .output import GLYPHS, STYLES, dumped, local_time, plural

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..core.job import Claimed
    from ..core.outcome import Outcome

LEVELS = ("debug", "info", "warning", "error")
INFO = LEVELS.index("info")
EVENTS = (
    "unknown_queue", "worker_started", "worker_stopping", "worker_stopped", "ended", "lost", "swept", "lease_lost", "store_error", "late",
    "stuck", "left", "cancelling", "pruned",
)  # fmt: skip
KINDS = {
    "completed": "completed", "released": "queued", "cancelled": "cancelled", "review": "review",
    "snoozed": "scheduled", "failed": "retrying", "crashed": "retrying", "lost_unknown": "retrying", "timed out": "retrying",
}  # fmt: skip


class WorkerLog:
    """Subscribes to the events of an application and logs them: the method `_x` the event `x`."""

    def __init__(self, app: Mainstay, level: str, form: str) -> None:
        self._clock = app.clock
        self._least, self._json = LEVELS.index(level), form == "json"
        self._colour, self._tty = coloured(sys.stderr), sys.stderr.isatty()
        for name in EVENTS:
            app.events.on(name, getattr(self, f"_{name}"))
        self._take_logging()

    def _take_logging(self) -> None:
        """Write what handlers and libraries log by `logging` too, unless the application has set that up itself."""
        root = logging.getLogger()
        if not root.handlers:
            root.addHandler(LoggingLines(self))
            root.setLevel(LEVELS[self._least].upper())

    def write(self, level: str, event: str, text: str, label: str = "", **fields: Any) -> None:
        """Write one line, if its level is high enough."""
        if LEVELS.index(level) < self._least:
            return
        now = self._clock.now()
        if self._json:
            record = {"at": iso(now), "level": level, "event": event, **fields}
            line = dumped(record)
        else:
            glyph = GLYPHS.get(label, "!" if level in {"warning", "error"} else "·")
            painted = f"\033[{STYLES[label]}m{glyph}\033[0m" if self._colour and label else glyph
            at = local_time(now, now) if self._tty else iso(now)
            line = f"{at} {painted} {printable(text)}"
        sys.stderr.write(line + "\n")

    def _unknown_queue(self, queue: str, hint: str) -> None:
        text = f'queue "{queue}"{hint}: no type declares it and no job waits in it; the worker serves it all the same'
        self.write("warning", "unknown_queue", text, queue=queue)

    def _worker_started(self, worker: Any) -> None:
        types = list(worker.types)
        queues, own = list(worker.wants), {worker.app.registry.expect(type).queue for type in types}
        text = f"worker {worker.id} is ready: {worker.concurrency} slots, serving {', '.join(types)}"
        text += f" from the queues {', '.join(queues)}" if set(queues) != own else ""
        self.write(
            "info", "worker_started", text, worker=worker.id, slots=worker.concurrency, types=types, queues=queues
        )

    def _worker_stopping(self, worker: Any) -> None:
        text = f"stopping: running jobs have {human(worker.grace)}; a second signal stops them now"
        self.write("info", "worker_stopping", text, worker=worker.id)

    def _worker_stopped(self, worker: Any) -> None:
        self.write("info", "worker_stopped", "stopped", worker=worker.id)

    def _ended(self, job: Claimed, outcome: Outcome) -> None:
        if outcome.kind == "completed" and self._least > INFO:  # nearly every job: build no text that is not shown
            return
        took = max(self._clock.now() - job.started_at, 0)
        failed = outcome.error is not None
        final = failed and outcome.kind != "released" and (not outcome.retry or job.attempt >= job.max_attempts)
        label = "dead" if final else KINDS.get(outcome.kind, "")
        why = f": {outcome.error or outcome.reason}" if outcome.error or outcome.reason else ""
        attempt = f"attempt {job.attempt}/{job.max_attempts} " if failed else ""
        text = f"{job.type} {job.id} {attempt}{outcome.kind} in {human(took)}{why}"
        self.write(
            "warning" if failed else "info", "ended", text, label, job=job.id, type=job.type, attempt=job.attempt,
            outcome=outcome.kind, ms=took, error=outcome.error, code=outcome.code, reason=outcome.reason,
        )  # fmt: skip

    def _lost(self, transition: Any) -> None:
        text = f"the outcome of {transition.id} was not stored: this worker had lost the job"
        self.write("warning", "lost", text, job=transition.id)

    def _swept(self, **fields: Any) -> None:
        freed = next((value for value in fields.values() if isinstance(value, (list, tuple))), ())
        self.write("warning", "swept", f"freed {plural(len(freed), 'job')} of dead workers", jobs=len(freed))

    def _lease_lost(self, worker: str) -> None:
        text = f"worker {worker} lost its lease; it dropped its jobs and rejoins"
        self.write("error", "lease_lost", text, worker=worker)

    def _store_error(self, error: BaseException, wait: int) -> None:
        self.write("error", "store_error", f"{error} (trying again in {human(wait)})", error=str(error), wait=wait)

    def _late(self, job: Claimed) -> None:
        text = f"{job.type} {job.id} timed out, but its handler still runs"
        self.write("error", "late", text, job=job.id, type=job.type)

    def _stuck(self, job: Claimed) -> None:
        text = f"{job.type} {job.id} keeps its slot until its handler ends: this process finishes its other jobs and is replaced"
        self.write("error", "stuck", text, job=job.id, type=job.type)

    def _left(self, job: Claimed) -> None:
        text = f"{job.type} {job.id} still runs and cannot be stopped: it runs again when this process has ended"
        self.write("warning", "left", text, job=job.id, type=job.type)

    def _cancelling(self, job: Claimed) -> None:
        self.write("info", "cancelling", f"{job.type} {job.id} was asked to stop", "cancelling", job=job.id)

    def _pruned(self, count: int) -> None:
        self.write("debug", "pruned", f"removed {count} jobs whose retention is over", count=count)


class LoggingLines(logging.Handler):
    """Writes the records of `logging` as lines of the worker's log, with the job in which they were logged."""

    def __init__(self, log: WorkerLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level = LEVELS[max(0, min(record.levelno // 10 - 1, len(LEVELS) - 1))]
        context = current.get(None)
        job = {} if context is None else {"job": context.id, "type": context.job.type}
        text = self.format(record)
        where = f"{job['type']} {job['job']} " if job else ""
        self._log.write(level, "log", f"{where}{record.name}: {text}", logger=record.name, message=text, **job)
