"""The chapters of the story. Imported once the servers run, as the application reads their addresses from its environment."""

import gzip
import json
import time
from contextlib import suppress
from pathlib import Path

from sqlalchemy import text

from examples.event_extraction.database import create_tables, engine, session
from examples.event_extraction.jobs import app, extract_events, ingest
from mainstay import NotFound

FAULTS = {
    "A-limited": ("429", [{"status": 429, "retry_after": 3}]),
    "A-silent": ("timeout", ["silence"]),
    "A-half": ("json", ["half"]),
    "A-wrong": ("schema", ['{"events": [{"who": "Ida"}]}']),
    "A-broken": ("500", [500] * 5),
}


def canned(after=0.0):
    """An answer that is right for the texts made by `body`."""
    events = [{"who": "Ida Moe", "date": date, "place": "Bergen"} for date in ("1 May 2026", "2 May 2026")]
    return {"text": json.dumps({"events": events}), "after": after}


def body(uid):
    return f"Ida Moe came to Bergen on 1 May 2026 and left Bergen on 2 May 2026. ({uid})"


def script(texts, many):
    """What the fault server answers: the model to the real texts, after a while the same to the others, faults to some."""
    slow = {f"({uid})": [canned(after=3.0)] for uid in (f"A-{n:03}" for n in range(many))}
    return {words: ["model"] * 9 for words in texts} | slow | {f"({uid})": list(f) for uid, (_, f) in FAULTS.items()}


def prepare():
    app.list(limit=1)  # the first use of an empty database makes the tables of the jobs
    create_tables()


def take(uid, revision, words):
    """Ingest in one transaction; returns the job and the seconds it took."""
    begun = time.monotonic()
    with session.begin() as tx:
        job = ingest(tx, uid, revision, words)
    return job, time.monotonic() - begun


def rows(statement):
    with engine.begin() as connection:
        return connection.execute(text(statement)).all()


def until(condition, what, seconds=90):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            left = [(job.ref, job.state, job.attempt, job.error) for job in app.list("-state:completed")]
            raise TimeoutError(f"{what} did not happen within {seconds} s; these jobs have not completed: {left}")
        time.sleep(0.05)


def real_texts(story, texts):
    until(lambda: sum(each.slots for each in app.workers()) == 100, "100 workers are up")
    story.say(f"100 workers in {len(app.workers())} processes; {len(texts)} artifacts arrive for the real model")
    for n, words in enumerate(texts):
        take(f"T-{n}", "r1", words)
    finish(len(texts) + len(FAULTS))
    found = rows(
        "SELECT who, date, place FROM event JOIN extraction x ON x.id = extraction WHERE artifact_uid LIKE 'T-%'"
    )
    for event in sorted({" · ".join(row) for row in found}):
        story.say(f"  the model found: {event}")
    story.check("all that was stored is in the texts", all(any(row[0] in words for words in texts) for row in found))


def finish(count):
    """Wait until these jobs are done. An operator runs again what a busy machine was too slow for, or what three workers died with."""

    def done():
        if time.monotonic() > looked[0] + 5:
            looked[0] = time.monotonic()
            app.bulk("type:extract_events state:scheduled").reschedule(delay=0, actor="operator")
            app.bulk("type:extract_events state:dead").retry(actor="operator")
        return app.bulk("type:extract_events state:completed").count() >= count

    looked = [time.monotonic()]
    until(done, f"{count} extractions are done")


def ingestion(story, many):
    story.say(f"{many} artifacts arrive, and each extraction takes 3 s")
    taken = [take(uid, "r1", body(uid)) for uid in (f"A-{n:03}" for n in range(many))]
    took = [seconds for _, seconds in taken]
    running = rows("SELECT count(*) FROM event_jobs WHERE status = 'PROCESSING'")[0][0]
    worst, typical = max(took), sorted(took)[len(took) // 2]
    story.check(
        f"the slowest ingestion took {worst * 1000:.0f} ms, half {typical * 1000:.0f} ms; {running} extractions ran",
        worst < 1,
    )


def one_transaction(story):
    before = len(rows("SELECT FROM artifact_revision")), len(rows("SELECT FROM event_jobs"))
    with suppress(RuntimeError), session.begin() as tx:
        ingest(tx, "A-half", "r2", "never committed")
        raise RuntimeError("the upload was cut off")
    after = len(rows("SELECT FROM artifact_revision")), len(rows("SELECT FROM event_jobs"))
    story.check("after a rollback there is neither a revision nor a job", before == after)


def faults_and_backoff(story, waits):
    story.say("some questions fail: a code is kept, and the next attempt is written down")
    jobs = {uid: take(uid, "r1", body(uid))[0].id for uid in FAULTS}
    for uid, (code, _) in FAULTS.items():
        until(lambda uid=uid: app.get(jobs[uid]).state == "scheduled", f"{uid} has failed once")
        story.check(
            f"{uid}: code {code}, next attempt {_wait(jobs[uid]):.0f} s later", _kept(jobs[uid], code, waits[0])
        )
    story.say("they run now instead of then; one service stays broken")
    for n, wait in enumerate(waits[1:], 2):
        app.bulk("type:extract_events state:scheduled").reschedule(delay=0, actor="operator")
        until(lambda n=n: _tried(jobs["A-broken"], n), f"attempt {n} of A-broken has failed")
        story.check(
            f"A-broken: attempt {n} failed, the next {_wait(jobs['A-broken']):.0f} s later",
            _kept(jobs["A-broken"], "500", wait),
        )
    app.bulk("type:extract_events state:scheduled").reschedule(delay=0, actor="operator")
    until(lambda: app.get(jobs["A-broken"]).state == "dead", "A-broken is dead")
    codes = [attempt.code for attempt in app.attempts(jobs["A-broken"])]
    story.check(f"A-broken is dead after {len(codes)} attempts, all with code 500", codes == ["500"] * 5)
    story.say("the service is mended: an operator retries the dead job")
    app.bulk("state:dead type:extract_events").retry(actor="operator")
    finish(len(jobs))


def _last(job):
    return app.attempts(job)[-1]


def _wait(job):
    return (app.get(job).run_at - _last(job).ended_at).total_seconds()


def _tried(job, n):
    found = app.get(job)
    return found.state == "scheduled" and len(app.attempts(job)) == n


def _kept(job, code, wait):
    """Whether the error's code is kept, and the wait as long as it should be, or up to half as long again."""
    return _last(job).code == code and wait * 0.999 <= _wait(job) <= wait * 1.501


def kills(story, texts, fleet, most):
    """Artifacts arrive while workers are killed in the middle of their work, and others take their place."""
    story.say(
        f"{len(fleet.workers)} worker processes of 25 slots; artifacts arrive, and every second one of the processes is killed"
    )
    took = [take(f"T-{n}", "r1", words)[1] for n, words in enumerate(texts)]
    while fleet.kill_some(most):
        took += [take(uid, "r1", body(uid))[1] for uid in (f"A-{len(took) + n:03}" for n in range(5))]
    story.check(f"the slowest of {len(took)} ingestions took {max(took) * 1000:.0f} ms meanwhile", max(took) < 1)
    finish(len(took) + len(FAULTS))
    crashed = rows("SELECT count(*) FROM mainstay.attempt WHERE outcome = 'crashed'")[0][0]
    story.check(
        f"{fleet.killed} processes were killed, and {crashed} extractions with them",
        fleet.killed >= most and crashed > 0,
    )


def everything_extracted(story):
    finish(len(rows("SELECT FROM artifact_revision")))
    counts = rows("""SELECT count(x.id) FROM artifact_revision LEFT JOIN extraction x USING (artifact_uid, revision_id)
                     GROUP BY artifact_uid, revision_id""")
    story.check(f"all {len(counts)} revisions are extracted, each exactly once", set(counts) == {(1,)})
    broken = rows("SELECT FROM extraction x WHERE events <> (SELECT count(*) FROM event e WHERE e.extraction = x.id)")
    story.check("no extraction is half written", not broken)
    again = extract_events.enqueue("A-half", "r1")
    story.check("the same revision is never extracted again: its job is returned", again.state == "completed")


def status(story, command):
    story.say("status by SQL: SELECT status, count(*) FROM event_jobs GROUP BY status")
    for name, count in rows("SELECT status, count(*) FROM event_jobs GROUP BY status ORDER BY 1"):
        story.say(f"  {name:10} {count:>4}")
    story.say("status by command: mainstay status")
    for line in command("status").splitlines():
        print(f"            {line}")
    found = command("ls", "code:429", "--fields", "ref,state")
    story.check("a failure is found by its code: mainstay ls code:429", "A-limited" in found)


def retention(story, command, archive):
    least = len(rows("SELECT FROM artifact_revision"))
    story.say(command("prune", "type:extract_events", "--older", "0s", "--archive", archive, "--yes"))
    lines = [json.loads(line) for path in Path(archive).glob("*.gz") for line in _lines(path)]
    archived = {line["job"]["ref"] for line in lines if "job" in line}
    story.check(
        f"{len(archived)} jobs are in the archive, none in the table",
        len(archived) == least and not rows("SELECT FROM event_jobs"),
    )
    try:
        again = extract_events.enqueue("A-half", "r1").state
    except NotFound:
        again = "gone"
    story.check(
        "the key of a removed job is still taken: nothing is extracted twice",
        again == "gone" and not rows("SELECT FROM event_jobs"),
    )


def _lines(path):
    with gzip.open(path, "rt") as file:
        return file.readlines()
