"""`worker`: runs jobs in this process, or in several processes under a supervisor: each is `python -m mainstay.cli.worker`.

It logs on stderr: one line for each event of the application, as text or JSON.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from ..context import current
from ..core.alerts import RECOVERED
from ..core.clock import human, iso
from ..core.decide import Completed
from ..core.errors import UsageError
from ..core.masking import masked
from ..core.states import COMPLETED
from ..settings_file import load_settings
from ..stores import without_driver
from . import enqueue_args
from .completed_lines import CompletedLines
from .discrepancies import discrepancy_line, reconciled_line
from .exits import coloured, shown
from .options import command, targeted
from .output import GLYPHS, STYLES, dumped, local_time, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app import Mainstay
    from ..context import Context
    from ..control.records import Discrepancy, Reconciliation
    from ..core.alerts import Alert
    from ..core.clock import Clock
    from ..core.decide import Transition
    from ..core.job import Claimed
    from ..core.outcome import Outcome
    from ..core.settings import Settings
    from .options import Target

LEVELS = ("debug", "info", "warning", "error")
INFO = LEVELS.index("info")
EVENTS = (
    "unknown_queue", "worker_started", "worker_stopping", "worker_stopped", "ended_otherwise", "lost", "swept", "lease_lost", "store_error", "late",
    "stuck", "left", "cancelling", "unresponsive", "pruned", "review_reminder", "review_expired", "dead_reopened", "worker_asked", "alert",
    "alert_failed", "discrepancy", "reconciled",
)  # fmt: skip
KINDS = {
    "completed": "completed", "released": "queued", "cancelled": "cancelled", "review": "review",
    "snoozed": "scheduled", "failed": "retrying", "crashed": "retrying", "lost_unknown": "retrying", "timed out": "retrying",
}  # fmt: skip


@command(
    """
    mainstay worker --app jobs:app
    mainstay worker --app jobs:app --queues mail,default --concurrency 8
    mainstay worker --app jobs:app --processes 4
    mainstay worker --app jobs:app --drain --max-seconds 25
    """
)
@click.option("--queues", metavar="A,B", help="Only these queues, in this order.")
@click.option("--types", metavar="A,B", help="Only these types.")
@click.option("-c", "--concurrency", metavar="N", help="Jobs that run at the same time in a process.  [default: 50]")
@click.option("-p", "--processes", metavar="N", help="Worker processes.  [default: 1]")
@click.option("--grace", metavar="DURATION", help="How long running jobs may continue after a stop.  [default: 30s]")
@click.option("--log-level", metavar="LEVEL", help="debug, info, warning or error.  [default: info]")
@click.option("--log-format", metavar="FORM", help="text or json.  [default: text]")
@click.option("--events", is_flag=True, help="Print the life of each job on stdout, as lines of JSON.")
@click.option("--drain", is_flag=True, help="Run what is due, print a summary and exit.")
@click.option("--max-jobs", metavar="N", type=click.IntRange(1), help="With --drain: claim at most N jobs.")
@click.option(
    "--max-seconds", metavar="SECONDS", help="With --drain: exit within this time; what has not finished is released."
)
@click.option("--json", "as_json", is_flag=True, help="With --drain: print the summary as JSON.")
@targeted
def worker(
    target: Target, types: str | None, drain: bool, max_jobs: int | None, max_seconds: str | None, as_json: bool, events: bool,
    **given: Any,
) -> int:  # fmt: skip
    """Run jobs until a signal stops it; --drain: until none is due.

    The first SIGTERM or Ctrl-C stops gracefully: running jobs may finish or reach a safe point, the others are released.
    A second one stops at once; interrupted jobs run again.

    With --drain, the exit code is 0 when all went well or a limit was reached, 3 if a job is dead, 6 if the store cannot be reached.
    """
    if given["grace"]:
        given["grace"] = enqueue_args.duration("--grace", given["grace"])
    settings = target.settings(**given, events=events or None)
    if drain or max_jobs is not None or max_seconds is not None or as_json:
        from . import drain as one_shot

        seconds = one_shot.check(drain, max_seconds, settings.processes)
        app = _logged(application(target), settings)
        return one_shot.run(app, max_jobs, seconds, as_json, _options(settings, types))
    if settings.processes > 1:
        return _supervise(target, settings, types)
    from ..worker.shutdown import until_signalled

    return until_signalled(_logged(application(target), settings).worker(**_options(settings, types)), replaceable=True)


def _logged(app: Mainstay, settings: Settings) -> Mainstay:
    """Return the application with a log, and with the channels of alerts that the settings name."""
    for name, spec in settings.alerts.items():
        app.alerts.send_to(name, **spec)
    WorkerLog(app, settings.log_level, settings.log_format)
    if settings.events:
        from .life_cycle import LifeCycle

        LifeCycle(app)
    return app


def application(target: Target) -> Mainstay:
    """Return the application. It uses the URL of the command line, unless the code gives it another."""
    if target.given_url:
        os.environ["MAINSTAY_URL"] = target.given_url
    app = target.application()
    if target.given_url and without_driver(target.given_url) != app.store.url:
        raise UsageError(
            f"the application was built for {masked(app.store.url)}: leave --url out, or write Mainstay() without a URL, "
            "so that --url, MAINSTAY_URL or the settings file decide"
        )
    return app


def _options(settings: Settings, types: str | None) -> dict[str, Any]:
    return {
        "concurrency": settings.concurrency,
        "queues": settings.queues or None,
        "types": [name.strip() for name in types.split(",")] if types else None,
        "grace": settings.grace,
        "poll": settings.poll,
        "audit_keep": settings.audit_keep,
        "stats_keep": settings.stats_keep,
        "archive": settings.archive or None,
        "lease": settings.lease,
        "reconcile": settings.reconcile,
        "job_log_level": settings.job_log_level,
        "job_log_lines": settings.job_log_lines,
        "job_log_size": settings.job_log_size,
    }


def _supervise(target: Target, settings: Settings, types: str | None) -> int:
    """Run several processes. They get the options of the command line through the environment."""
    from ..core.clock import SystemClock
    from ..worker.supervisor import Supervisor

    app = target.app_name()
    given = {
        "MAINSTAY_LOG_LEVEL": settings.log_level,
        "MAINSTAY_LOG_FORMAT": settings.log_format,
        "MAINSTAY_EVENTS": "true" if settings.events else "false",
    }
    os.environ.update(given | ({"MAINSTAY_URL": target.given_url} if target.given_url else {}))
    log = Log(SystemClock(), settings.log_level, settings.log_format)
    options = _options(settings, types)
    return Supervisor(app, settings.processes, options, entry="mainstay.cli.worker", log=log.write).run()


class Log(logging.Handler):
    """Writes lines with time and level, as text or JSON."""

    def __init__(self, clock: Clock, level: str, form: str) -> None:
        super().__init__()
        self._clock = clock
        self._least, self._json = LEVELS.index(level), form == "json"
        self._colour, self._tty = coloured(sys.stderr), sys.stderr.isatty()

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
            painted = self._painted(glyph, label)
            at = local_time(now, now) if self._tty else iso(now)
            line = f"{at} {painted} {shown(text)}"
        sys.stderr.write(line + "\n")

    def _painted(self, glyph: str, label: str) -> str:
        return f"\033[{STYLES[label]}m{glyph}\033[0m" if self._colour and label else glyph


class WorkerLog(Log):
    """Logs the events of an application, the method `_x` the event `x`, and what handlers log by `logging`."""

    def __init__(self, app: Mainstay, level: str, form: str) -> None:
        super().__init__(app.clock, level, form)
        self._completed = CompletedLines(self._json, self._painted(GLYPHS["completed"], "completed"))
        for name in EVENTS:
            app.events.on(name, getattr(self, f"_{name}"))
        if self._least <= INFO:  # else nearly every job costs a call for nothing
            app.events.on("stored", self._stored)
        root = logging.getLogger()
        if not root.handlers:  # else the application has set up itself what handlers and libraries log by `logging`
            root.addHandler(self)
            root.setLevel(LEVELS[self._least].upper())

    def write(self, level: str, event: str, text: str, label: str = "", **fields: Any) -> None:
        """Write one line, after those about jobs that completed before it."""
        self._completed.flush()
        super().write(level, event, text, label, **fields)

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

    def _worker_asked(self, worker: Any, what: str) -> None:
        does = "finishes what it runs and ends" if what == "drain" else "stops"
        self.write("info", "worker_asked", f"an operator asks for it: this worker {does}", worker=worker.id, what=what)

    def _review_reminder(self, job: str, question: str, deciders: tuple[str, ...], asked_at: int) -> None:
        who = " or ".join(deciders) or "a person"
        text = f"{job} has waited {human(max(self._clock.now() - asked_at, 0))} for {who}: {question}"
        self.write("warning", "review_reminder", text, "review", job=job, question=question, deciders=deciders)

    def _dead_reopened(self, fingerprint: str, type: str, job: str) -> None:
        text = f"a job of {type} died of what was resolved: mainstay dead show {fingerprint}"
        self.write("warning", "dead_reopened", text, "dead", fingerprint=fingerprint, type=type, job=job)

    def _review_expired(self, job: str, question: str, verdict: str) -> None:
        text = f"{job} {'is dead' if verdict == 'expired' else f'is {verdict}'}: nobody decided in time: {question}"
        self.write("warning", "review_expired", text, "review", job=job, question=question, verdict=verdict)

    def _worker_stopping(self, worker: Any) -> None:
        text = "stopping"
        if worker.in_flight.active:
            text += f": running jobs have {human(worker.grace)}; a second signal stops them now"
        if worker.draining:
            text = f"draining: {plural(worker.in_flight.active, 'job')} to finish; a signal stops the worker within {human(worker.grace)}"
        self.write("info", "worker_stopping", text, worker=worker.id)

    def _worker_stopped(self, worker: Any) -> None:
        self.write("info", "worker_stopped", "stopped", worker=worker.id)

    def _stored(self, transitions: Sequence[Transition]) -> None:
        """Log the jobs that have completed, as soon as that is stored; other ends are logged when they come."""
        if set(map(type, transitions)) == {Completed}:
            completed = transitions
        else:
            completed = [t for t in transitions if t.state == COMPLETED and t.outcome == "completed" and not t.reason]
        if completed and (self._json or not self._tty):
            self._completed.add(completed)
            return
        for each in completed:
            text = f"{each.type} {each.id} completed in {human(max(each.at - each.started_at, 0))}"
            self.write("info", "ended", text, "completed")

    def _ended_otherwise(self, job: Claimed, outcome: Outcome) -> None:
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
        text = f"{job.type} {job.id} still runs and cannot be stopped: when this process has ended, it runs again, or is cancelled if it was asked to stop"
        self.write("warning", "left", text, job=job.id, type=job.type)

    def _cancelling(self, job: Claimed) -> None:
        self.write("info", "cancelling", f"{job.type} {job.id} was asked to stop", "cancelling", job=job.id)

    def _unresponsive(self, job: Claimed) -> None:
        text = f"{job.type} {job.id} was asked to stop, but its handler still runs: it has reached no safe point"
        self.write("warning", "unresponsive", text, "cancelling", job=job.id, type=job.type)

    def _alert(self, what: str, alert: Alert) -> None:
        level = "info" if what == RECOVERED else "warning" if alert.severity == "warning" else "error"
        text = f"alert {what} ({alert.severity}): {alert.text}"
        about = {name: value for name, value in alert._asdict().items() if value and name != "text"}
        self.write(level, "alert", text, what=what, message=alert.text, **about)

    def _alert_failed(self, channel: str, error: BaseException, wait: int | None, alert: Alert) -> None:
        then = "it is given up" if wait is None else f"trying again in {human(wait)}"
        text = f"the channel {channel} has not delivered an alert: {error} ({then})"
        self.write("error", "alert_failed", text, channel=channel, error=str(error), rule=alert.rule, wait=wait)

    def _discrepancy(self, found: Discrepancy) -> None:
        self.write(
            "warning", "discrepancy", discrepancy_line(found), job=found.id, type=found.type, subject=found.subject,
            kind=found.kind, message=found.text, other=found.other,
        )  # fmt: skip

    def _reconciled(self, report: Reconciliation) -> None:
        counts = {name: value for name, value in report._asdict().items() if name != "found"}
        self.write("info", "reconciled", reconciled_line(report), **counts)

    def _pruned(self, count: int) -> None:
        self.write("debug", "pruned", f"removed {count} jobs whose retention is over", count=count)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record of `logging`, with the job in which it was logged."""
        level = LEVELS[max(0, min(record.levelno // 10 - 1, len(LEVELS) - 1))]
        context = current.get(None)
        text = self.format(record)
        where, about = ("", {}) if context is None else _named(context)
        self.write(level, "log", f"{where}{record.name}: {text}", logger=record.name, message=text, **about)


def _named(context: Context) -> tuple[str, dict[str, Any]]:
    """Return the job that logs, or the batch, as a text and as fields."""
    jobs = list(dict.fromkeys(each.id for each in context.batch))
    if len(jobs) == 1:
        return f"{context.type} {jobs[0]} ", {"job": jobs[0], "type": context.type}
    return f"{context.type} batch of {plural(len(jobs), 'job')} ", {"jobs": jobs, "type": context.type}


if __name__ == "__main__":
    from ..load_app import load_app
    from ..worker.shutdown import exit_process
    from ..worker.worker_process import main

    exit_process(main(sys.argv[1:], lambda spec: _logged(load_app(spec), load_settings())))
