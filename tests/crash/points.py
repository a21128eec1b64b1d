"""The fault-point loop: a process that kills itself at the n-th step of a store operation, for n = 1, 2, 3 … until it lives.

`python -m tests.crash.points [--engine postgres18] [VERB …]`. On SQLite a step is one statement on a write connection
(BEGIN and COMMIT among them), or the moment after a commit and before its answer; they are counted from outside, by SQLite's
own trace of the connection. On a server a step is the moment before or after a piece of the conversation passes a proxy
on its way: the server has not heard it yet, has heard it, or has answered. All victims of one verb share a store; then a worker with default settings must bring every job to its end.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from mainstay import Mainstay
from mainstay.core.decide import decide
from mainstay.core.job import WorkerInfo
from mainstay.core.outcome import COMPLETED, Outcome
from mainstay.stores import outbox
from mainstay.stores.sqlite import connect
from mainstay.upkeep.sweep import Sweep
from mainstay.worker.registration import new_identity
from tests.servers.engines import REDIS
from tests.servers.proxy import Proxy

from . import address, journal, mutations
from .audit import Audit
from .engines import ENGINES, Sqlite
from .journal import Journal
from .outages import OUTAGES
from .waiting import at_rest, until
from .workload import announced, build, listen
from .zygote import Zygote

if TYPE_CHECKING:
    from mainstay.core.job import Claimed

MOST = 500  # steps in one operation; more means that the fuse does not burn
BUDGET = 30.0
LEASES = {Sqlite.name: 10_000}  # ms
SHORT = 1_500  # ms, on servers: that long the recovery waits for the victims to be dead
WANTS = {"default": ["quick", "order", "child", "ledger"]}


class Fuse:
    """Counts steps once it is lit, and kills the process at one of them."""

    def __init__(self, at: int) -> None:
        self._left, self.lit = at, False

    def burn(self, *_: object) -> None:
        """One step."""
        if self.lit:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def wire(self) -> None:
        """Count the statements of every write connection from here on, and the moment after each commit."""
        writer, write = connect.Database.writer, connect.Database.write

        def traced(db: Any) -> Any:
            connection = writer(db)
            connection.set_trace_callback(self.burn)
            return connection

        def written(db: Any, work: Any) -> Any:
            result = write(db, work)
            self.burn()
            return result

        connect.Database.writer, connect.Database.write = traced, written  # type: ignore[method-assign]

    def follow(self, engine: Any) -> None:
        """Count the statements of the user's own connection too."""
        engine.connection().set_trace_callback(self.burn)


class Match:
    """Stands in the victim for a fuse that burns in the proxy: says that it is lit."""

    def __init__(self, folder: Path, at: int) -> None:
        self._file = folder / f"lit-{at}"

    @property
    def lit(self) -> bool:
        return self._file.exists()

    @lit.setter
    def lit(self, _: bool) -> None:
        self._file.touch()

    def burn(self, *_: object) -> None:
        """Nothing: the proxy counts."""

    def follow(self, engine: Any) -> None:
        """Nothing: that connection goes by way of the proxy as well."""


class Countdown:
    """The fuse in the proxy: once its match is lit, it kills the victim at one of the steps."""

    def __init__(self, match: Match, at: int) -> None:
        self._match, self._left = match, at
        self._known, self._pid = threading.Event(), 0

    def aim(self, pid: int) -> int:
        """Say who the victim is."""
        self._pid = pid
        self._known.set()
        return pid

    def __call__(self) -> None:
        """One step."""
        if self._left and self._match.lit:
            self._left -= 1
            if self._left == 0 and self._known.wait(BUDGET):
                os.kill(self._pid, signal.SIGKILL)

    def out(self) -> None:
        """The victim is through: count no more."""
        self._left = 0


class Victim:
    """A process that does one thing to a store and may die of it. Each round's jobs outrank those of the rounds before."""

    def __init__(self, folder: Path, at: int, engine: str) -> None:
        self.round, self.lease = at, LEASES.get(engine, SHORT)
        self.fuse: Any = Fuse(at) if engine == Sqlite.name else Match(folder, at)
        if isinstance(self.fuse, Fuse):
            self.fuse.wire()
        self.engine, self.journal = ENGINES[engine](folder), Journal(folder, f"victim-{at}")
        self.app = build(self.engine, self.journal, 0)
        listen(self.app, self.journal)
        self.store, self.worker, self.count = self.app.store, new_identity(), 0

    def draft(self, type: str = "quick", **options: Any) -> Any:
        """A job of this round."""
        self.count += 1
        item = f"{type}-{self.round}-{self.count}"
        payload = {"item": item, "seconds": 0.0} if type == "ledger" else {"item": item}
        draft = self.app._draft(type, payload, {"priority": self.round, **options})
        return announced([draft], self.journal, type, [item])[0]

    def accept(self, *drafts: Any, tx: Any = None) -> list[str]:
        """Enqueue, and write down that it was acknowledged."""
        handles = self.app.enqueue_many(drafts, tx=tx)
        if tx is None:
            self.acked(drafts)
        return [handle.id for handle in handles]

    def acked(self, drafts: Any) -> None:
        """The store's word is given."""
        ids = [draft.id for draft in drafts]
        self.journal.write("acked", items=[], ids=ids, answers=ids, created=[True] * len(ids))

    def join(self) -> None:
        """Register as a worker."""
        now = self.now()
        self.store.register(
            WorkerInfo(self.worker, "host", os.getpid(), 1, (), (), now, now, now + self.lease, 0, False)
        )

    def take(self, count: int) -> list[Claimed]:
        """Claim jobs of this round."""
        return self.store.claim(self.worker, WANTS, count, self.now()).jobs

    def now(self) -> int:
        """The time."""
        return self.app.clock.now()

    def ended(self, job: Claimed, outcome: Outcome = COMPLETED) -> Any:
        """The transition of a job that ended so; a completion returns its token, as the audit expects."""
        if outcome.kind == "completed":
            outcome = outcome._replace(result=f'{{"token": {job.token}}}')
        return decide(job, outcome, self.now(), lambda: 0.5)


def enqueue(victim: Victim) -> None:
    """One, one with a key and tags, and several at once."""
    victim.fuse.lit = True
    victim.accept(victim.draft())
    victim.accept(victim.draft(key=f"k{victim.round}", tags=["a", "b"]))
    victim.accept(*(victim.draft() for _ in range(3)))


def tx_enqueue(victim: Victim) -> None:
    """A row of the user's own and a job, in the user's transaction."""
    victim.fuse.follow(victim.engine)
    draft = victim.draft("order")
    victim.fuse.lit = True
    with victim.engine.transaction() as tx:
        victim.engine.order(tx, f"order-{victim.round}-1")
        victim.accept(draft, tx=tx)
    victim.fuse.burn()
    victim.acked([draft])


def join(victim: Victim) -> None:
    """A worker comes, and goes in good order."""
    victim.fuse.lit = True
    victim.join()
    victim.store.deregister(victim.worker)


def claim(victim: Victim) -> None:
    """Jobs are taken, and the finished ones are written with the next claim."""
    victim.accept(*(victim.draft() for _ in range(4)))
    victim.join()
    victim.fuse.lit = True
    jobs = victim.take(2)
    done = [victim.ended(job) for job in jobs]
    victim.store.claim(victim.worker, WANTS, 2, victim.now(), done)


def finish(victim: Victim) -> None:
    """One completes and has children, one failed, one is put off, one was handed back."""
    victim.accept(*(victim.draft() for _ in range(4)))
    victim.join()
    first, *rest = victim.take(4)
    child = victim.app._draft("child", {"item": f"child-{victim.round}"}, {})
    announced([child], victim.journal, "child", [f"child-{victim.round}"], parent=first.id, token=first.token)
    outcomes = [Outcome("failed", error="X"), Outcome("snoozed", delay=10), Outcome("released")]
    victim.fuse.lit = True
    done = victim.ended(first, COMPLETED._replace(children=(child,)))
    victim.store.finish([done, *(victim.ended(job, how) for job, how in zip(rest, outcomes, strict=True))])
    victim.store.finish([done])  # sent twice, as after a lost answer


def complete_in(victim: Victim) -> None:
    """A completion in the user's own transaction."""
    victim.accept(victim.draft("ledger"))
    victim.join()
    (job,) = victim.take(1)
    victim.fuse.follow(victim.engine)
    victim.fuse.lit = True
    with victim.engine.transaction() as tx:
        victim.engine.book(tx, f"ledger-{victim.round}-1", job.id, job.token)
        outbox.finish(victim.store, tx, victim.ended(job))
    victim.fuse.burn()


def beat(victim: Victim) -> None:
    """A worker holds a job and renews its lease, with a cancel on its way."""
    ids = victim.accept(victim.draft(), victim.draft())
    victim.join()
    victim.take(2)
    victim.journal.write("cancel", job=ids[0])
    victim.store.cancel(ids[:1], victim.now(), "test")
    victim.journal.write("cancelled", job=ids[0], answer="cancelling")
    victim.fuse.lit = True
    victim.store.renew(victim.worker, victim.now(), victim.lease)
    victim.store.renew(victim.worker, victim.now(), victim.lease)


def cancel(victim: Victim) -> None:
    """A waiting and a running job are cancelled."""
    running, waiting = victim.accept(victim.draft(), victim.draft(delay="1s"))
    victim.join()
    victim.take(1)
    victim.fuse.lit = True
    for job in (waiting, running):
        victim.journal.write("cancel", job=job)
        answer = victim.store.cancel([job], victim.now(), "test")[job]
        victim.journal.write("cancelled", job=job, answer=answer)


def sweep(victim: Victim) -> None:
    """The jobs of a worker that is gone are freed; what the round before has left over is freed first."""
    chore = Sweep(victim.store, lambda: 0.5, victim.app.events, 500)
    chore.step(victim.now())
    victim.accept(victim.draft(), victim.draft())
    victim.join()
    victim.take(2)
    victim.store.deregister(victim.worker)
    victim.fuse.lit = True
    chore.step(victim.now())


def prune(victim: Victim) -> None:
    """Ended jobs are removed when their retention is over."""
    victim.accept(*(victim.draft(keep="0s", tags=["t"]) for _ in range(3)))
    victim.join()
    victim.store.finish([victim.ended(job) for job in victim.take(3)])
    victim.fuse.lit = True
    victim.store.prune(victim.now() + 1_000, 2)
    victim.store.prune(victim.now() + 1_000, 2)


VERBS = {verb.__name__: verb for verb in
         (enqueue, tx_enqueue, join, claim, finish, complete_in, beat, cancel, sweep, prune)}  # fmt: skip


def verbs_of(engine: str) -> list[str]:
    """The operations that an engine has: Redis has no transactions of the user's own."""
    return [verb for verb in VERBS if engine not in REDIS or verb not in ("tx_enqueue", "complete_in")]


def suffer(folder: str, verb: str, at: int, engine: str, broken: str = "") -> int:
    """A role for the zygote: one victim."""
    mutations.apply(broken)
    VERBS[verb](Victim(Path(folder), at, engine))
    return 0


def recover(folder: str, engine: str) -> int:
    """A role for the zygote: a worker with default settings that leaves once everything is at rest."""
    book = Journal(Path(folder), "recovery")
    app = build(ENGINES[engine](Path(folder)), book, 0)
    listen(app, book)
    with app.worker():
        return 0 if until(lambda: at_rest(app) and _tidy(Path(folder)), BUDGET) else 1


def _tidy(folder: Path) -> bool:
    """Whether a sweep has removed the lock files of the dead: the next one after their jobs were freed does."""
    return len(list(folder.glob("*-mainstay/*.lock"))) <= 1  # its own


class Outcomes(NamedTuple):
    """What a loop came to: at how many steps the process was killed, and what was wrong in the end."""

    verb: str
    kills: int
    jobs: int
    findings: list[str]


def loop(verb: str, folder: Path, broken: str = "", engine: str = Sqlite.name) -> Outcomes:
    """Kill at the first step, the second, … until the operation is through; recover; audit."""
    if engine == Sqlite.name:
        return _loop(verb, folder, broken, engine, None)
    with OUTAGES[""](engine, folder, Random()):
        direct = address.Address(engine, folder).direct
        with Proxy(urlsplit(direct).port) as proxy:
            address.write(folder, proxy.url(direct), direct)
            return _loop(verb, folder, broken, engine, proxy)


def _loop(verb: str, folder: Path, broken: str, name: str, proxy: Proxy | None) -> Outcomes:
    engine = ENGINES[name](folder)
    app = Mainstay(engine.url)
    app.store.set_setting("opened", "1")  # makes the schema
    engine.prepare()
    with Zygote(folder / "errors.log") as zygote:
        kills, findings = kill_everywhere(zygote, folder, {"verb": verb, "broken": broken, "engine": name}, proxy)
        if zygote.reap(zygote.fork("tests.crash.points:recover", folder=str(folder), engine=name)) != 0:
            findings.append(f"not at rest {BUDGET:.0f} s after the last kill")
    audit = Audit(journal.read(folder), engine, app)
    app.close()
    engine.close()
    findings += audit.lost + audit.twice + audit.unexpected
    findings += (folder / "errors.log").read_text(encoding="utf-8").splitlines()
    return Outcomes(verb, kills, len(audit.jobs), findings)


def kill_everywhere(
    zygote: Zygote, folder: Path, settings: dict[str, str], proxy: Proxy | None
) -> tuple[int, list[str]]:
    """One victim for each step; answers how many there were, and what was wrong with the one that lived."""
    verb = settings["verb"]
    for at in range(1, MOST):
        fuse = Countdown(Match(folder, at), at)
        if proxy is not None:
            proxy.watch = fuse
        code = zygote.reap(fuse.aim(zygote.fork("tests.crash.points:suffer", folder=str(folder), at=at, **settings)))
        fuse.out()
        if code != -signal.SIGKILL:
            return at - 1, [f"{verb} ended with {code} at step {at}"] if code else []
    return MOST, [f"{verb} goes on after {MOST} steps"]


def main(arguments: list[str]) -> int:
    """Loop over the verbs and print a table; 1 when something was wrong."""
    engine, verbs = Sqlite.name, arguments
    if arguments[:1] == ["--engine"]:
        engine, verbs = arguments[1], arguments[2:]
    print(f"{'operation':14} {'kills':>6} {'jobs':>6} {'wrong':>6}")
    bad = 0
    for verb in verbs or verbs_of(engine):
        with tempfile.TemporaryDirectory() as folder:
            found = loop(verb, Path(folder), engine=engine)
        print(f"{verb:14} {found.kills:6} {found.jobs:6} {len(found.findings):6}", flush=True)
        print("".join(f"  {finding}\n" for finding in found.findings[:8]), end="")
        bad += len(found.findings)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
