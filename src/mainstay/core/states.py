"""The states of a job and the one table of moves between them. Every store and the docs follow it."""

from __future__ import annotations

QUEUED, SCHEDULED, BLOCKED, RUNNING = "queued", "scheduled", "blocked", "running"
REVIEW, COMPLETED, CANCELLED, DEAD = "review", "completed", "cancelled", "dead"

STATES = (QUEUED, SCHEDULED, BLOCKED, RUNNING, REVIEW, COMPLETED, CANCELLED, DEAD)
ENDED = frozenset({COMPLETED, CANCELLED, DEAD})
WAITING = frozenset({QUEUED, SCHEDULED, BLOCKED})

# (from, to): what makes the move. "" is a job that did not exist before.
MOVES = {
    ("", QUEUED): "enqueue",
    ("", SCHEDULED): "enqueue with a delay",
    ("", BLOCKED): "enqueue behind a limit or a parent",
    (QUEUED, RUNNING): "claim",
    (BLOCKED, RUNNING): "claim: first in line at a limit that has room, and admitted in that moment",
    (SCHEDULED, QUEUED): "promote: its time has come; or an operator changes that time",
    (SCHEDULED, BLOCKED): "promote: a limit, a rate or a pause holds it back",
    (
        QUEUED,
        SCHEDULED,
    ): "replaced by a newer draft with the same key, which waits; delayed by an operator; or its rate permits no start now",
    (QUEUED, BLOCKED): "gives its slot to a higher priority, its type is paused, or it is moved behind a limit",
    (BLOCKED, SCHEDULED): "first in line of a rate that permits no start now; or delayed by an operator",
    (BLOCKED, DEAD): "a parent did not complete, and the job asked for that",
    (BLOCKED, QUEUED): "admit: the limit or the parent no longer blocks it",
    (QUEUED, CANCELLED): "cancel",
    (SCHEDULED, CANCELLED): "cancel",
    (BLOCKED, CANCELLED): "cancel",
    (REVIEW, CANCELLED): "cancel",
    (RUNNING, COMPLETED): "finish: returned",
    (RUNNING, QUEUED): "finish: released at shutdown, or retried at once",
    (RUNNING, BLOCKED): "finish: as above, and a limit holds it back",
    (RUNNING, SCHEDULED): "finish: retried later, snoozed, or left to another worker's code",
    (RUNNING, REVIEW): "finish: a person decides",
    (RUNNING, CANCELLED): "finish: cancelled",
    (RUNNING, DEAD): "finish: failed for good",
    (REVIEW, COMPLETED): "approve",
    (REVIEW, DEAD): "reject",
    (REVIEW, QUEUED): "run again",
    (REVIEW, BLOCKED): "run again, and a limit holds it back",
    (REVIEW, SCHEDULED): "run again, at a later time",
    (DEAD, QUEUED): "retry by an operator",
    (DEAD, BLOCKED): "retry by an operator, and a limit holds it back",
    (DEAD, SCHEDULED): "retry by an operator, at a later time",
    (CANCELLED, QUEUED): "retry by an operator",
    (CANCELLED, BLOCKED): "retry by an operator, and a limit holds it back",
    (CANCELLED, SCHEDULED): "retry by an operator, at a later time",
}
