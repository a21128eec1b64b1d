"""What the processes of a crowd do: each a function that a fresh interpreter can import, answering by a file."""

import json
import multiprocessing
import threading
import time

from mainstay.core.clock import ManualClock
from mainstay.core.errors import DuplicateKey, StoreError
from mainstay.core.keys import FOREVER
from mainstay.core.outcome import COMPLETED
from mainstay.stores import open_store
from tests.contract.building import draft, keyed, transition, worker

FORKSERVER = "forkserver" in multiprocessing.get_all_start_methods()
# So that a process costs a fork and not a second of imports; none of these opens anything when it is imported.
PRELOADED = [__name__, *(f"mainstay.stores.{engine}.store" for engine in ("sqlite", "postgres", "redis"))]


def processes(count, target, folder, *arguments):
    """Run `target(name, barrier, *arguments)` in fresh processes at once; answers what each returned."""
    context = multiprocessing.get_context("forkserver" if FORKSERVER else "spawn")
    if FORKSERVER:
        context.set_forkserver_preload(PRELOADED)
    barrier = context.Barrier(count)
    files = [folder / f"answer-{n}.json" for n in range(count)]
    crowd = [
        context.Process(target=_answer, args=(target, files[n], f"p{n}", barrier, *arguments)) for n in range(count)
    ]  # fmt: skip
    for process in crowd:
        process.start()
    for process in crowd:
        process.join(90)
    assert [process.exitcode for process in crowd] == [0] * count
    return [json.loads(file.read_text()) for file in files]


def threads(count, target, *arguments):
    """Run `target(name, barrier, *arguments)` in threads at once; answers what each returned."""
    barrier, answers = threading.Barrier(count), {}

    def run(n):
        answers[n] = target(f"t{n}", barrier, *arguments)

    crowd = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join(90)
    return [answers[n] for n in range(count)]  # a KeyError here: a thread raised, and pytest shows what


def _answer(target, file, *arguments):
    file.write_text(json.dumps(target(*arguments)))


def drain(name, barrier, store, now):
    """Claim and finish until nothing is left; the ids in the order claimed. `store` may be a URL."""
    store = open_store(store, ManualClock(now)) if isinstance(store, str) else store
    store.register(worker(name, now, 10**9))
    barrier.wait(60)
    seen, finishing = [], []
    while True:
        answer = store.claim(name, {"default": ["work"]}, 7, now, finishing)
        assert set(answer.verdicts) <= {"stored"}
        seen += [job.id for job in answer.jobs]
        finishing = [transition(job, COMPLETED, now) for job in answer.jobs]
        if not answer.jobs:
            return seen


def insist(name, barrier, store, now, rounds):
    """Enqueue the same key in every round, together with the others; the answers of each round."""
    store = open_store(store, ManualClock(now)) if isinstance(store, str) else store
    answers = []
    for n in range(rounds):
        barrier.wait(60)
        answers.append(store.enqueue([keyed(f"round {n}")], now)[0])
    return answers


def contend(name, barrier, store, now, rounds):
    """Enqueue one key a round in turn by every way, together with the others; per round the answers about its key."""
    store = open_store(store, ManualClock(now)) if isinstance(store, str) else store
    answers = []
    for n in range(rounds):
        barrier.wait(60)
        drafts = WAYS[n % len(WAYS)](f"round {n}")
        found = store.enqueue(drafts, now)
        answers.append([answer for answer, each in zip(found, drafts, strict=True) if each.key])
    return answers


WAYS = (
    lambda key: [keyed(key)],
    lambda key: [keyed(key, FOREVER)],
    lambda key: [keyed(key, FOREVER), draft(), keyed(key)],
    lambda key: [keyed(key, on_conflict="replace")],
    lambda key: [draft(key=key, undeclared=("key",))],
)


CONFLICTS = ("existing", "replace", "raise")


def hurry(name, barrier, store, now, rounds):
    """Enqueue the same key in every round while the first of the crowd runs what is there; how many jobs this one made or ran."""
    store = open_store(store, ManualClock(now)) if isinstance(store, str) else store
    if name.endswith("0"):
        store.register(worker(name, now, 10**9))
    done = 0
    for n in range(rounds):
        barrier.wait(60)
        done += _run_alone(name, store, now) if name.endswith("0") else _ask(store, now, CONFLICTS[n % 3])
    return done


def _ask(store, now, on_conflict):
    try:
        ((_, created),) = store.enqueue([keyed(on_conflict=on_conflict)], now)
    except DuplicateKey:  # as asked, or the job to replace has started
        return 0
    return int(created)


def _run_alone(name, store, now):
    """Claim and finish: of jobs with one key, a claim never finds two, and none while one runs."""
    jobs = store.claim(name, {"default": ["work"]}, 9, now).jobs
    assert len(jobs) <= 1
    if jobs:
        assert store.claim(name, {"default": ["work"]}, 9, now).jobs == []
        store.finish([transition(job, COMPLETED, now) for job in jobs])
    return len(jobs)


def storm(name, barrier, url, seconds):
    """Everything at once for a while: the slowest enqueue and what reached the caller as an error."""
    clock = ManualClock(int(time.time() * 1000))
    store, errors, waits = open_store(url, clock), [], []
    barrier.wait(60)
    store.register(worker(name, clock.now(), 10**9))
    finishing, limit = [], time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            start = time.monotonic()
            store.enqueue([draft(tags=("t",)), keyed(name), draft()], clock.now())
            waits.append(time.monotonic() - start)
            jobs = store.claim(name, {"default": ["work"]}, 5, clock.now(), finishing).jobs
            finishing = [transition(job, COMPLETED._replace(result="1"), clock.now()) for job in jobs]
            look_around(store, clock)
        except StoreError as error:
            errors.append(repr(error))
    store.finish(finishing)
    return {"errors": errors, "waits": sorted(waits)}


def look_around(store, clock):
    """What dashboards, chores and operators do meanwhile."""
    store.counts(1_000)
    store.search([], 20, None, clock.now())
    store.renew("p0", clock.now(), 10**9)
    store.orphans(clock.now(), 60_000, 100)
    store.prune(clock.now() + 10**10, 50)


def open_at_once(name, barrier, url, now):
    """The very first use of a file, by everyone at the same moment."""
    store = open_store(url, ManualClock(now))
    barrier.wait(60)
    return store.enqueue([draft()], now)[0][0]
