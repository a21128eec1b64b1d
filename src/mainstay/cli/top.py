"""`top`: a live view of the installation on the whole screen, with keys that act on the job or the type under the cursor."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..control import json_records
from ..control.pauses import pauses
from ..control.status import CAP, last_hour
from ..control.workers import live
from ..core.errors import MainstayError, UsageError
from ..core.masking import masked
from ..core.rules import ALL
from ..query import parse
from ..short_ids import shortened
from . import enqueue_args, exits
from .actions import actor
from .options import command, on_store
from .output import Output, plural, state
from .progress import bar
from .status import ends, print_counts, summary

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..control.stats import StatsRecord
    from ..core.job import Count, Job, Rule, WorkerInfo
    from .options import Target
    from .screen import Page, Screen

VIEWS = {"1": "running", "2": "waiting", "3": "retrying", "4": "review", "5": "dead", "6": "ended"}
HELP = (
    "1–6   which jobs: running, waiting, retrying, in review, dead, ended      /     a search instead",
    "↑ ↓   choose a job (j k too)                                              enter all about it",
    "r     retry it        c  cancel it        p  pause or resume its type     q     quit",
)
RUNNING = "state:running"
LISTED = 100  # jobs with --json
TYPES = 12  # that are listed at most; the others are in the totals


class Picture(NamedTuple):
    """What one look at the store has found."""

    now: int
    counts: list[Count]
    workers: list[WorkerInfo]
    lately: dict[str, StatsRecord]
    jobs: list[Job]
    pauses: list[Rule]


@command("mainstay top\nmainstay top --every 5s\nmainstay top type:mail")
@click.argument("query", nargs=-1)
@click.option("--every", metavar="DURATION", default="1s", show_default=True, help="How often to look.")
@on_store("Print only the ids of the jobs, once.")
def top(target: Target, output: Output, query: tuple[str, ...], every: str) -> int:
    """Watch everything on one screen, and act on it by a key.

    The keys are on the screen; ? lists them. An action is confirmed by y. With --json, it prints what it would show, once.
    """
    seconds, text = enqueue_args.duration("--every", every), " ".join(query)
    if output.shape.machine or output.shape.quiet:
        with target.open() as app:
            picture = look(app, text or RUNNING, LISTED)
            output.give(lambda: _record(picture), [job.id for job in picture.jobs], lambda: None)
            return exits.OK
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("top needs a terminal", "mainstay status, or mainstay tail --jsonl for programs")
    from .screen import Screen

    with target.open() as app:
        parse(text, app.clock.now())  # a mistake is said before the screen is taken
        with Screen() as screen:
            return Top(app, target, screen, text, seconds).run()


def look(app: Mainstay, query: str, most: int) -> Picture:
    """Return what the store holds now, with the newest jobs of a search."""
    store, now = app.store, app.clock.now()
    jobs = store.get_many(store.search(parse(query, now), most, None, now).ids)
    return Picture(now, store.counts(CAP), store.workers(), last_hour(app), jobs, list(store.rules(["pause"])))


def _record(picture: Picture) -> dict[str, Any]:
    return {
        "counts": [json_records.of(count) for count in picture.counts], "workers": [json_records.of(worker) for worker in picture.workers],
        "last_hour": ends(picture.lately), "paused": [rule.name for rule in picture.pauses],
        "jobs": [json_records.of_job(job, picture.now) for job in picture.jobs],
    }  # fmt: skip


class Top:
    """The view: what is shown, where the cursor is, and what a key does."""

    def __init__(self, app: Mainstay, target: Target, screen: Screen, query: str, every: float) -> None:
        self._app, self._target, self._screen, self._every = app, target, screen, max(every, 0.1)
        self._query = query or RUNNING
        self._chosen = 0
        self._message = ""
        self._help = False
        self._typing: str | None = None  # the search that is being typed

    def run(self) -> int:
        """Show and obey until `q` or Ctrl-C."""
        try:
            return self._run()
        except KeyboardInterrupt:
            return exits.OK

    def _run(self) -> int:
        picture, looked = self._look(), time.monotonic()
        while True:
            self._draw(picture)
            left = self._every - (time.monotonic() - looked)
            key = self._key(left)
            if key in ("q", "quit"):
                return exits.OK
            if key and self._obey(key, picture):
                left = 0
            if left <= 0 or time.monotonic() - looked >= self._every:
                picture, looked = self._look(), time.monotonic()

    def _key(self, seconds: float) -> str:
        try:
            return self._screen.key(seconds)
        except KeyboardInterrupt:
            return "quit"

    def _look(self) -> Picture:
        try:
            return look(self._app, self._query, self._screen.size[1])
        except UsageError as error:
            self._message, self._query = str(error), RUNNING
            return look(self._app, self._query, self._screen.size[1])

    # drawing --------------------------------------------------------------------------------------------------------
    def _draw(self, picture: Picture) -> None:
        from .screen import Page

        width, height = self._screen.size
        self._chosen = max(0, min(self._chosen, len(picture.jobs) - 1))
        page = Page(width, picture.now)
        self._print_head(page, picture)
        self._print_jobs(page, picture, height - len(page.text) - 2)
        page.text = page.text[: height - 2] + [""] * max(0, height - 2 - len(page.text))
        self._print_foot(page)
        self._screen.draw(page.text)

    def _print_head(self, page: Page, picture: Picture) -> None:
        there = live(picture.workers, picture.now)
        busy, slots = sum(worker.running for worker in there), sum(worker.slots for worker in there)
        serving = (f"{plural(len(there), 'worker')}, {busy}/{slots} slots busy", "good" if there else "bad")
        page.facts(("mainstay", "bold"), masked(self._target.url()), serving, f"last hour: {summary(picture.lately)}")
        for rule in picture.pauses:
            what = "everything" if rule.name == ALL else rule.name.replace(":", " ", 1)
            page.line(("‖ ", "warn"), f"{what} is paused by {rule.actor}: {rule.reason or 'no reason given'}")
        types = sorted({count.type for count in picture.counts}, key=lambda name: -_jobs(picture.counts, name))[:TYPES]
        print_counts(page, [count for count in picture.counts if count.type in types], picture.lately)
        page.line()

    def _print_jobs(self, page: Page, picture: Picture, room: int) -> None:
        page.line((self._query, "bold"), (f"  {plural(len(picture.jobs), 'job')}", "dim"))
        if not picture.jobs:
            page.line(("none", "dim"), indent=1)
            return
        first = max(0, self._chosen - max(room - 3, 1) + 1)
        shown = picture.jobs[first : first + max(room - 2, 1)]
        ids = shortened([job.id for job in shown])
        rows = [
            self._row(page, job, id, place == self._chosen)
            for place, (job, id) in enumerate(zip(shown, ids, strict=True), first)
        ]
        page.table(["STATE", "ID", "TYPE", "TRY", "TOOK", "ABOUT"], rows, right=(3, 4), drop=(3, 4))

    def _row(self, page: Page, job: Job, id: str, chosen: bool) -> list[tuple[str, str] | str]:
        took = page.spent(json_records.durations(job, page.now)["took"])
        about = "".join(part[0] for part in bar(job.done, job.total, 12)) + " " + json_records.about(job)
        cells = [
            state(job.label),
            id,
            (job.type, "bold"),
            f"{job.attempt}/{job.max_attempts}",
            took,
            (about.strip(), "dim"),
        ]
        return [(cell if isinstance(cell, str) else cell[0], "selected") for cell in cells] if chosen else list(cells)

    def _print_foot(self, page: Page) -> None:
        if self._help:
            page.text = page.text[: -len(HELP)]
            for line in HELP:
                page.line((line, "dim"))
        if self._typing is not None:
            page.line(f"/{self._typing}▏", ("  enter: search  escape: back", "dim"))
        elif self._message:
            page.line((self._message, "warn"))
        page.line(("1–6 jobs · / search · ↑↓ choose · enter show · r c p act · ? keys · q quit", "dim"))

    # keys -----------------------------------------------------------------------------------------------------------
    def _obey(self, key: str, picture: Picture) -> bool:
        """Do what a key says; return whether to look again at once."""
        self._message = ""
        if self._typing is not None:
            return self._type(key)
        if key in VIEWS:
            self._query, self._chosen = f"state:{VIEWS[key]}", 0
            return True
        if key in MOVES:
            self._chosen += MOVES[key]
        elif key == "?":
            self._help = not self._help
        elif key == "/":
            self._typing = ""
        elif picture.jobs and key in ("enter", "r", "c", "p"):
            return self._act(key, picture.jobs[self._chosen], picture)
        return False

    def _type(self, key: str) -> bool:
        typed, self._typing = self._typing or "", None
        if key == "enter":
            self._query, self._chosen = typed or RUNNING, 0
        elif key == "backspace":
            self._typing = typed[:-1]
        elif key != "escape":
            self._typing = typed + (key if key.isprintable() and len(key) == 1 else "")
        return self._typing is None

    def _act(self, key: str, job: Job, picture: Picture) -> bool:
        if key == "enter":
            self._show(job)
            return True
        paused = bool(pauses(picture.pauses, job.type, job.queue))
        words = {"r": "retry", "c": "cancel", "p": "resume" if paused else "pause"}
        what = f"type {job.type}" if key == "p" else f"{job.type} {job.id}"
        self._message = f"{words[key]} {what}? y: yes, any other key: no"
        self._draw(picture)
        if self._key(60) != "y":
            self._message = "nothing changed"
            return False
        try:
            self._message = f"{what}: {self._do(words[key], job)}"
        except MainstayError as error:
            self._message = str(error)
        return True

    def _do(self, word: str, job: Job) -> str:
        who = actor()
        if word == "retry":
            return self._app.retry(job.id, actor=who)
        if word == "cancel":
            return self._app.cancel(job.id, actor=who)
        getattr(self._app, word)(type=job.type, actor=who, reason="mainstay top")
        return f"{word}d"

    def _show(self, job: Job) -> None:
        """Print all about a job on the usual screen, and come back after it was read."""
        from .show import print_job

        with self._screen.left():
            print_job(self._app, Output(now=self._app.clock.now()), job, self._target)
            sys.stdout.write("\n[enter: back]")
            sys.stdout.flush()
            sys.stdin.readline()


MOVES = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -10, "page down": 10}


def _jobs(counts: list[Count], type: str) -> int:
    return sum(count.jobs for count in counts if count.type == type)
