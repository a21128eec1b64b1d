"""What happened, as an append-only list of records: written by the simulator and by campaigns over real processes.

A record is a NamedTuple here and one JSON array a line in a file. `step` is its place in the history; `at` the engine's
time in milliseconds; `process` who did it. Which operations there are, their phases and their `args`:

    enqueue invoke   a draft is about to be sent. job: the draft's id. args: key, mode ("alive", "start", "period"), batch
                     (a name that the drafts of one call share), parent and parent_token (children of a running job), after (parents to wait for)
    enqueue ok       the answer. job: the id answered. args: sent (the draft's id), created
    enqueue absorbed the engine answers with a job that has the draft's key, in the order of commits (simulator only).
                     job: that job. args: sent, mode (if the draft replaced what was asked)
    enqueue fail     it surely did not happen. job: the draft's id
    enqueue unknown  nobody can know. job: the draft's id
    move    ok       the engine committed a change of state. job, token, args: before ("" did not exist), after ("" is
                     gone), attempt; if known: crashes, worker, run_at, max_attempts, queue, type, priority, cancelling,
                     rules (as stored), start_by, started_at
    claim   ok       a worker learnt that it holds the job. job, token
    start   ok       a handler is about to run. job, token, args: limit (its timeout), clock (its worker's wall clock)
    end     ok       a handler is through. job, token, args: outcome (a kind of `core.outcome.Outcome`), ran (milliseconds,
                     without the pauses of its process)
    finish  ok       an outcome was recorded. job, token, args: state, outcome, by ("worker" or "sweep"), marks (the sweep
                     could know which jobs had started), expires and policy (of a review that has a deadline)
    finish  refused  an outcome was refused, its lease was lost. job, token
    fault   ok       process: whom it struck. args: kind (crash, pause, delay, …; "exit" when the process ended by itself), verb
                     (the call that it struck; without one, the whole process)
    stopping ok      process: whose worker was asked to stop
    back    ok       process: which goes on after a suspension
    clock   ok       process: whose wall clock was set. args: by (milliseconds)
    register ok      process: whose worker is about to be registered. args: worker (its identity)
    lease   ok       process: the worker's identity. args: until (0: left or buried)
    cancel, retry, resolve_review, delete, change ok    job, args: answer (the store's), only (the state that a search asked
                     for); of resolve_review: actor, now (the instant that decides)
    remind  ok       a process may remind of a review. job, token, args: due (when)
    note    ok       the engine stored a log line, progress or a checkpoint. job, token, args: running (or
                     completed), current (the job's token at that moment)
    hold    ok       the engine committed that a job holds a slot, or no longer. job, args: slot, there, commit
    rule    ok       … that a rule is set or removed. args: kind, name, value, there, commit
    final   ok       a job as it stands at the end. job, token, args: state, waits (what a blocked one waits for)
    counted ok       what the counters say at the end. args: names (completed, dead, cancelled, attempts)
    stray   ok       at the end, a row that belongs to no job, or a job without its body. args: table

A campaign writes what it can know: every rule of the checker looks only at the records that are there. Moves are best
taken from the engine itself (`commit_log`), in the order of their commits.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OPS = frozenset(
    ["enqueue", "move", "claim", "start", "end", "finish", "fault", "stopping", "back", "clock", "register", "lease", "cancel", "retry", "resolve_review", "delete", "remind",
     "change",
     "note", "hold", "rule", "final", "counted", "stray"]
)  # fmt: skip
PHASES = frozenset({"invoke", "ok", "fail", "unknown", "refused", "absorbed"})
_NOTHING: dict[str, Any] = {}


class Record(NamedTuple):
    """One thing that happened."""

    step: int
    at: int
    process: str
    op: str
    phase: str = "ok"
    job: str = ""
    token: int = 0
    args: dict[str, Any] = _NOTHING

    def __str__(self) -> str:
        told = " ".join(f"{name}={value}" for name, value in self.args.items() if value is not None)
        return f"{self.step:6} {self.at:9} {self.process:14} {self.op:8} {self.phase:8} {self.job} #{self.token} {told}".rstrip()


class History:
    """Records in the order in which they happened."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.records: list[Record] = list(records)

    def add(
        self, at: int, process: str, op: str, phase: str = "ok", job: str = "", token: int = 0, **args: Any
    ) -> Record:  # fmt: skip
        """Append one record; its step is its place."""
        record = Record(len(self.records), at, process, op, phase, job, token, args)
        self.records.append(record)
        return record

    def of(self, job: str) -> list[Record]:
        """The records about one job, and what its holders' leases were whenever something happened to it."""
        holders = {r.args.get("worker") for r in self.records if r.job == job and r.op == "move"} - {None}
        found: list[Record] = []
        leases: dict[str, Record] = {}
        for record in self.records:
            if record.op == "lease" and record.process in holders:
                leases[record.process] = record  # only the newest before the next record about the job is telling
            elif record.job == job:
                found += [*leases.values(), record]
                leases = {}
        return found

    def hash(self) -> str:
        """The same text for the same history, on every machine and under every hash seed."""
        digest = hashlib.sha256()
        for line in self.lines():
            digest.update(line.encode())
        return digest.hexdigest()

    def lines(self) -> Iterator[str]:
        """One JSON array a record, with its newline."""
        for record in self.records:
            yield json.dumps(record, separators=(",", ":"), sort_keys=True) + "\n"

    def dump(self, path: str) -> None:
        """Write the history to a file."""
        with Path(path).open("w", encoding="utf-8") as file:
            file.writelines(self.lines())

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)


def load(path: str) -> History:
    """The history in a file. A last line that was cut short does not count: its writer was killed."""
    with Path(path).open(encoding="utf-8") as file:
        return History(Record._make(json.loads(line)) for line in file if line.endswith("\n"))


def merge(*histories: Iterable[Record]) -> History:
    """Histories of several processes as one, ordered by `at`; within one process the order stays."""
    ordered = sorted((record for history in histories for record in history), key=lambda record: record.at)
    return History(record._replace(step=step) for step, record in enumerate(ordered))
