"""What the simulated world works at: job types whose handlers do everything a handler can do, by the luck of the seed."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

from mainstay.app import Mainstay
from mainstay.core.limits import set_rules
from mainstay.core.outcome import Cancel, Permanent, Review, Snooze
from mainstay.core.retry import Retry
from mainstay.core.review import AT_DEADLINE
from mainstay.worker.update_buffer import PAUSE
from tests.simulation.scheduler import Crash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mainstay.context import Context
    from mainstay.core.draft import Draft
    from mainstay.registry import JobType
    from mainstay.worker.in_flight import Execution
    from mainstay.worker.update_buffer import UpdateBuffer
    from tests.simulation.executors import Script
    from tests.simulation.recorder import Recorder
    from tests.simulation.scheduler import Process

    Breach = Callable[[str, str, str], None]  # invariant, story, job

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


LINES = 12_000  # of a handler that logs without end


class Stage:
    """Where handlers are played. `calm` once the faults have stopped: then no handler kills its worker."""

    def __init__(
        self, random: Random, recorder: Recorder, ids: Any, hardships: frozenset[str], luck: Random, breach: Breach
    ) -> None:  # fmt: skip
        self._random, self._recorder, self._ids = random, recorder, ids
        self._hardships, self._luck, self._breach = hardships, luck, breach
        self.calm = False
        self.twins: set[tuple[str, int]] = set()  # attempts that gave one draft to ctx.enqueue twice
        self._chatty = 2 if "chatter" in hardships else 0  # handlers that will log without end

    def play(self, process: Process, execution: Execution, context: Context) -> Script:
        """One attempt: some lines, each after a while, then an ending."""
        random, name = self._random, execution.job.type
        yield random.randrange(1, 20 if name == "quick" else 600)
        if self._hardships and not self.calm:
            yield from self._suffer(process, execution, context)
        if name != "quick":
            for line in range(random.randrange(3)):
                self._note(context, line)
                yield random.randrange(1, 800)
        ending = random.choice(_CHOICES[name])
        if ending == "hang":
            yield random.choice((1_500, 4_000, 60_000) if execution.job.timeout else (2_000, 5_000, 9_000))
        return self._end(ending, process, context)

    def _suffer(self, process: Process, execution: Execution, context: Context) -> Iterator[int]:
        """What handlers do in a world with hardships."""
        name, luck = execution.job.type, self._luck
        if "replacements" in self._hardships and name != "quick":
            self._begin_work(context, json.loads(execution.job.payload).get("n", 0))
        if name == "slow" and self._chatty:
            self._chatty -= 1
            for line in range(LINES):
                context.log("a line", line=line)
                yield from _until_room(process.updates)
        if "suspends" in self._hardships and name == "moody":
            yield 4 * luck.randrange(2_000)
        if "stubborn" in self._hardships and name == "waits" and luck.random() < 0.5:
            yield from _ignoring(luck.randrange(40_000, 90_000))

    def _begin_work(self, context: Context, work: int) -> None:
        """Save which work this is; a checkpoint of other work must not be here. Then fail now and then."""
        found = context.checkpoint.get("work", work)
        if found != work:
            self._breach("I23", f"begins work {work} with the checkpoint of work {found}", context.job.id)
        context.save(work=work)
        if self._luck.random() < 0.5:
            raise Snooze(self._luck.choice((0.3, 1.5)))

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
        if ending == "review" or (ending == "children" and "reviews" in self._hardships):
            if "reviews" in self._hardships:
                context.enqueue(self._child(process, context))
            raise Review("please look", output={"draft": 1}, **self._asked(context))
        if ending == "cancel":
            raise Cancel
        if ending == "permanent":
            raise Permanent
        if ending == "crash" and not self.calm:
            process.alive = False
            self._recorder.struck(process, "crash")
            raise Crash(process.name)
        if ending == "children" and "drafts twice" in self._hardships:
            draft = TYPES["quick"].prepare()
            context.enqueue(draft, draft)
            self.twins.add((context.job.id, context.job.token))
        elif ending == "children":
            context.enqueue(*(self._child(process, context) for _ in range(self._random.randrange(1, 3))))
        return {"done": True} if self._random.random() < 0.5 else None

    def _asked(self, context: Context) -> dict[str, Any]:
        """What a review asks: drawn apart, so that worlds without reviews stay what they were."""
        if "reviews" not in self._hardships:
            return {}
        luck = Random(f"review {context.job.id} {context.job.token}")
        expires, policy = luck.choice((None, 0.3, 1.5, 5)), luck.choice(AT_DEADLINE)
        return {"expires": expires, "at_deadline": policy, "remind": luck.choice((None, 0.2, 1))}

    def _child(self, process: Process, context: Context) -> Draft:
        draft = TYPES["quick"].prepare()
        draft.id = self._ids.new(process.now())
        if "limits" in self._hardships:
            set_rules(draft, {"limits": [["api", "", 2], ["mail", "k", 1]]})
        self._recorder.add(
            process, "enqueue", "invoke", draft.id, parent=context.job.id, parent_token=context.job.token
        )
        return draft


def _until_room(updates: UpdateBuffer) -> Iterator[int]:
    """Wait as the next report would. Between two lines: inside the call, the claimer may lie below on the stack."""
    for _ in range(10):
        if updates.is_full():
            yield round(PAUSE * 100)


def _ignoring(length: int) -> Iterator[int]:
    """Go on for so long, whoever cancels."""
    try:
        yield length
    except BaseException as error:
        if type(error).__name__ != "CancelledError":
            raise
        yield length
