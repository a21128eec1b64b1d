"""The screen of the demo: a terminal is redrawn in place; a pipe gets one line for each event."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from ...core.clock import human
from ..output import GLYPHS, cut
from ..records import progress
from ..show import bar

if TYPE_CHECKING:
    from ...core.job import Job
    from ..output import Cell, Output
    from .story import Event, Story

LABELS = ("queued", "running", "retrying", "scheduled", "review", "dead", "completed")
RUNNING = 5


class Screen:
    """Shows the jobs of the demo while they run."""

    def __init__(self, output: Output, title: str) -> None:
        self._output, self._title = output, title
        self._drawn, self._told = 0, 0
        self._events = max(get_terminal_size().lines - 18, 3)  # more would scroll, and the screen would appear twice

    def show(self, story: Story, now: int, last: bool = False) -> None:
        """Show the current state."""
        if self._output.tty:
            self._draw(self._screen(story, now, last))
        else:
            for event in story.events[self._told :]:
                self._output.line(self._event(event))
            self._told = len(story.events)
            sys.stdout.flush()

    def _draw(self, lines: list[str]) -> None:
        """Draw over the last screen: move up, rewrite each line, clear what is below."""
        up = f"\033[{self._drawn}A" if self._drawn else ""
        sys.stdout.write(up + "".join(f"\033[K{line}\n" for line in lines) + "\033[J")
        sys.stdout.flush()
        self._drawn = len(lines)

    def _screen(self, story: Story, now: int, last: bool) -> list[str]:
        out = self._output
        since = human(now - story.began)
        running = [job for job in story.jobs.values() if job.state == "running"]
        running.sort(key=lambda job: (job.total is None, job.started_at or 0))
        lines = [f" {out.paint(self._title, 'bold')}  {out.paint(since, 'dim')}", ""]
        lines += [*self._table(story), ""]
        if not last:  # a fixed number of lines, so that nothing jumps
            lines += [self._running(job, now) for job in running[:RUNNING]]
            lines += [""] * (RUNNING - len(running[:RUNNING]) + 1)
        return lines + [self._event(event) for event in story.events[-self._events :]]

    def _table(self, story: Story) -> list[str]:
        types = sorted({job.type for job in story.jobs.values()})
        rows: list[list[Cell]] = []
        for type in types:
            numbers = [sum(job.type == type and job.label == label for job in story.jobs.values()) for label in LABELS]
            cells: list[Cell] = [(str(n), label if n else "dim") for n, label in zip(numbers, LABELS, strict=True)]
            rows.append([(type, "bold"), *cells])
        return self._output.rendered(["", *LABELS], rows, right=range(1, len(LABELS) + 1))

    def _running(self, job: Job, now: int) -> str:
        out = self._output
        part = f"{bar(out, job)} {progress(job):>4} {job.stage or ''}" if job.total else ""
        took = human(max(now - (job.started_at or now), 0))
        head = out.paint(f"{GLYPHS['running']} {job.type:15}", "running")
        return f" {head} {out.paint(f'attempt {job.attempt}  {took:>6}', 'dim')}  {part}"

    def _event(self, event: Event) -> str:
        out = self._output
        text = cut(event.text, max(out.width - 12, 30))
        return f" {out.paint(f'{event.at / 1000:5.1f}s', 'dim')}  {out.paint(GLYPHS.get(event.label, '·'), event.label)} {text}"
