"""How many jobs and repetitions each measure has."""

from __future__ import annotations

from typing import NamedTuple


class Scale(NamedTuple):
    """Numbers of jobs and repetitions; slow contenders get a share of the jobs (`Contender.pace`)."""

    rounds: int
    singles: int  # durable enqueues, one call each
    bulk: int
    drain: int
    backlog: int  # waiting behind, or finished before, the jobs of a drain
    foreign: int  # jobs of a type that the worker lacks, at the head of the queue
    limited: int  # jobs with a limit
    blocked: int  # jobs that wait for a limit or a rate
    paused: int  # jobs of a paused type
    pruning: int  # jobs that are drained while finished ones are removed
    lanes: int  # queues of a worker, and as many types in each
    bursts: int  # bursts of 100 jobs, one after the other
    pickups: int
    idle: float  # seconds over which an idle worker's processor time is taken
    starts: int  # cold starts of each program
    wal: int  # jobs whose share of the write-ahead log is taken
    crowd: int  # claimers side by side
    crowd_backlog: int  # jobs waiting while they claim
    crowd_seconds: float
    hold: float  # seconds for which a transaction is held open
    schedules: int  # of one worker
    ticking: float  # seconds over which their ticks are spread
    looks: int  # jobs of a store that commands look at

    @property
    def conclusive(self) -> bool:
        """Whether a drain is long enough to compare with a target."""
        return self.drain >= 10_000

    def share(self, jobs: int, pace: float) -> int:
        """A contender's share of `jobs`, rounded down to hundreds."""
        return max(100, int(jobs * pace) // 100 * 100)


FULL = Scale(
    rounds=3, singles=2_000, bulk=50_000, drain=30_000, backlog=500_000, foreign=1_000_000, limited=50_000, blocked=100_000, paused=1_000_000, pruning=100_000, lanes=300, bursts=20, pickups=100, idle=4.0, starts=20, wal=3_000,
    crowd=100, crowd_backlog=1_000_000, crowd_seconds=20.0, hold=180.0, schedules=1_000, ticking=60.0, looks=1_000_000,
)  # fmt: skip
QUICK = Scale(
    rounds=1, singles=100, bulk=2_000, drain=2_000, backlog=20_000, foreign=20_000, limited=5_000, blocked=5_000, paused=20_000, pruning=4_000, lanes=300, bursts=2, pickups=10, idle=0.5, starts=3, wal=200,
    crowd=10, crowd_backlog=2_000, crowd_seconds=1.0, hold=3.0, schedules=100, ticking=3.0, looks=5_000,
)  # fmt: skip
# A round of `--against`; a pair is two rounds. Short rounds: both commits of a pair should meet the same machine. A worker at rest is not
# compared.
PAIRED = FULL._replace(rounds=30, singles=1_000, bulk=25_000, pickups=40, idle=0.1, starts=25)
