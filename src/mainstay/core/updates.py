"""What a running handler reports: log lines, progress, checkpoints. The store refuses those of an older attempt by the token."""

from __future__ import annotations

from typing import NamedTuple

LEVELS = ("debug", "info", "warning", "error")
WARNED = LEVELS[2:]  # of lines that stores find by time


class LogLimits(NamedTuple):
    """How much of what an attempt logs is kept, and from which level on the records of `logging` are; "off": none of them."""

    lines: int = 20_000
    characters: int = 4_000_000
    level: str = "info"


class Line(NamedTuple):
    """What an attempt logs: all of `Log` but whose it is."""

    n: int
    at: int
    level: str
    stage: str | None
    message: str
    fields: str | None


class Log(NamedTuple):
    """A line for the job's log. `n` counts within the attempt, so that a line sent twice is stored once."""

    seq: int | str
    token: int
    n: int
    at: int
    level: str
    stage: str | None
    message: str
    fields: str | None
    lines: int | None = None  # so many lines of the attempt are in this one, see `core.log_lines`


class Progress(NamedTuple):
    """How far the job is; the newest one replaces the others."""

    seq: int | str
    token: int
    at: int
    done: float | None
    total: float | None
    stage: str | None
    details: str | None = None  # what else the handler says about it, as JSON


class Checkpoint(NamedTuple):
    """What the next attempt starts from."""

    seq: int | str
    token: int
    at: int
    body: str


Update = Log | Progress | Checkpoint
