"""What the simulated world works at: job types whose handlers do everything a handler can do, by the luck of the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainstay.app import Mainstay
from mainstay.core.outcome import Cancel, Permanent, Review, Snooze
from mainstay.core.retry import Retry
from tests.simulation.scheduler import Crash

if TYPE_CHECKING:
    from random import Random

    from mainstay.context import Context
    from mainstay.core.draft import Draft
    from mainstay.registry import JobType
    from mainstay.worker.in_flight import Execution
    from tests.simulation.executors import Script
    from tests.simulation.recorder import Recorder
    from tests.simulation.scheduler import Process

app = Mainstay("sqlite:///:memory:")  # only its types are used; its store is never opened


@app.job(timeout=None, retry=Retry(3, base=0.2))
def quick(n: int = 0) -> None:
    """Takes next to no time; has no time limit."""


@app.job(timeout=2, retry=Retry(4, base=0.2, cap=1))
def slow(n: int = 0) -> None:
    """Takes its time, writes notes and saves; some run past their limit."""


@app.job(timeout=3, queue="other", retry=Retry(2, base=0.1))
async def waits(n: int = 0) -> None:
    """An async handler: it can be interrupted."""


@app.job(timeout=None, retry=Retry(5, base=0.3))
def moody(n: int = 0) -> None:
    """Ends in any way there is."""


ENDINGS = {
    "quick": {"return": 9, "raise": 1},
    "slow": {"return": 5, "raise": 2, "hang": 2, "children": 2},
    "waits": {"return": 6, "raise": 2, "hang": 2, "snooze": 1},
    "moody": {"return": 3, "raise": 3, "hang": 3, "snooze": 3, "review": 1, "cancel": 1, "permanent": 1, "children": 4, "crash": 1},
}  # fmt: skip
_CHOICES = {name: [kind for kind, weight in kinds.items() for _ in range(weight)] for name, kinds in ENDINGS.items()}
TYPES: dict[str, JobType[..., Any, Any]] = dict(app.registry)


class Stage:
    """Where handlers are played. `calm` once the faults have stopped: then no handler kills its worker."""

    def __init__(self, random: Random, recorder: Recorder, ids: Any) -> None:
        self._random, self._recorder, self._ids = random, recorder, ids
        self.calm = False

    def play(self, process: Process, execution: Execution, context: Context) -> Script:
        """One attempt: some lines, each after a while, then an ending."""
        random, name = self._random, execution.job.type
        yield random.randrange(1, 20 if name == "quick" else 600)
        if name != "quick":
            for line in range(random.randrange(3)):
                self._note(context, line)
                yield random.randrange(1, 800)
        ending = random.choice(_CHOICES[name])
        if ending == "hang":
            yield random.choice((1_500, 4_000, 60_000) if execution.job.timeout else (2_000, 5_000, 9_000))
        return self._end(ending, process, context)

    def _note(self, context: Context, line: int) -> None:
        kind = self._random.randrange(4)
        if kind == 0:
            context.log("a line", line=line)
        elif kind == 1:
            context.progress(line, 3)
        elif kind == 2:
            context.save(line=context.checkpoint.get("line", 0) + 1)
        else:
            context.check()

    def _end(self, ending: str, process: Process, context: Context) -> Any:
        if ending == "raise":
            raise RuntimeError("no luck")
        if ending == "snooze":
            raise Snooze(self._random.choice((0, 0, 0.05, 1.5)))
        if ending == "review":
            raise Review("please look", output={"draft": 1})
        if ending == "cancel":
            raise Cancel
        if ending == "permanent":
            raise Permanent
        if ending == "crash" and not self.calm:
            process.alive = False
            self._recorder.struck(process, "crash")
            raise Crash(process.name)
        if ending == "children":
            context.enqueue(*(self._child(process, context) for _ in range(self._random.randrange(1, 3))))
        return {"done": True} if self._random.random() < 0.5 else None

    def _child(self, process: Process, context: Context) -> Draft:
        draft = TYPES["quick"].prepare()
        draft.id = self._ids.new(process.now())
        self._recorder.add(
            process, "enqueue", "invoke", draft.id, parent=context.job.id, parent_token=context.job.token
        )
        return draft
