"""What a running handler reports: log lines, progress, checkpoints. The store refuses those of an older attempt by the token."""

from __future__ import annotations

from typing import NamedTuple


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


class Progress(NamedTuple):
    """How far the job is; the newest one replaces the others."""

    seq: int | str
    token: int
    at: int
    done: float | None
    total: float | None
    stage: str | None


class Checkpoint(NamedTuple):
    """What the next attempt starts from."""

    seq: int | str
    token: int
    at: int
    body: str


Update = Log | Progress | Checkpoint
