"""The chapters of the story about documents: CVs without a worker, people who decide, mails, a source that fails."""

import json
import subprocess
import sys
import time

import httpx2

from examples.conversation_hook.story import check, heading, say, waited
from examples.document_desk import database, pdfs
from examples.document_desk.jobs import app, mails, sync
from examples.document_desk.world import ROWS

RECRUITER = {"actor": "rita", "roles": ["recruiter"]}
BATCH = 30


def uploaded(desk, content, name="cv.pdf"):
    """Upload a file as a browser does."""
    reply = httpx2.post(f"{desk.url}/cvs", files={"file": (name, content)}, timeout=30)
    return reply.json() if reply.status_code == 202 else reply


def state(job):
    return app.get(job).state


def called(desk, seconds=25):
    """Let the cron host call the desk; return what it says, and the seconds it took."""
    began = time.monotonic()
    command = [sys.executable, "-m", "examples.document_desk.cron_host", desk.url, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), time.monotonic() - began


def without_workers(desk, services):
    """A cron host calls the desk; nothing else runs jobs."""
    heading("No worker runs: a cron host calls the desk, and has 30 seconds")
    sent = [uploaded(desk, pdfs.cv(*lines)) for lines in (pdfs.ANNA, pdfs.LENA)]
    check(not any(app.attempts(each["job"]) for each in sent), "two CVs are uploaded: each has a profile and a job")
    calls = until_read(desk, [each["job"] for each in sent])
    slowest = max(took for _, took in calls)
    check(slowest < 30, f"{len(calls)} of its calls ran them, with a real model; the longest took {slowest:.0f} s")
    for each in sent:
        read(each)
    budget(desk, services)
    return sent


def until_read(desk, jobs, most=6):
    """Call the desk, once a minute on a real host, until these jobs have ended; return what each call said and took."""
    calls = [called(desk)]
    while not all(state(job) in ("completed", "review") for job in jobs) and len(calls) < most:
        calls.append(called(desk))
    return calls


def read(sent):
    """Whatever the model has said: what is stored is in the text, and the rest waits for a person."""
    job = app.get(sent["job"])
    person = job.result["structured"]
    say(f"the model says: {', '.join(person.values())}")
    if job.state == "completed":
        check(database.profile(sent["profileId"]).name == person["name"], "all of it is in the CV: it is stored")
    else:
        check(job.state == "review", f"that goes to a person: {job.reason}")


def budget(desk, services):
    services.pause = 0.1  # of each request: the whole takes longer than the call may
    job = sync.http_sync.enqueue("candidates", "crm")
    said, took = called(desk, seconds=3)
    found = app.get(job)
    check(
        said["left"] == 1 and took < 30 and (found.state, found.attempt) == ("queued", 0),
        f"a call of 3 s ends in time ({took:.1f} s), and the sync it has begun is released: no attempt is spent",
    )
    services.pause = 0.0
    before = len(services.pages)
    called(desk)
    check(
        job.result()["synced"] == ROWS and services.pages[before] != "0",
        f"the next call goes on from the cursor {services.pages[before]}: {ROWS} candidates are copied",
    )


def decisions(desk, around, first):
    """Scans, passwords, invented values: what the machine does not know, a person decides."""
    heading("Workers run: what is certain is stored, what is uncertain goes to a person")
    certain(desk, around)
    refused = uploaded(desk, b"MZ no PDF", "cv.exe")
    check(refused.status_code == 415, f"a file that is no PDF is refused: {refused.json()['detail']}")
    scan, locked = uploaded(desk, pdfs.scan()), uploaded(desk, pdfs.cv("Secret", password="hunter2"))
    waited(lambda: (state(scan["job"]), state(locked["job"])) == ("review", "dead"), "the scan and the locked file")
    check(app.get(scan["job"]).result["extractedLength"] == 0, f"a scan: {app.get(scan['job']).reason}")
    check(app.get(locked["job"]).attempt == 1, f"a password is final at once: {app.get(locked['job']).error}")
    anna, lena = first
    if state(anna["job"]) == "review":
        approve(anna, name="Anna Berg", email="anna.berg@example.org", title="Senior Engineer")
    check(state(lena["job"]) == "review", "the CV without an address waits: the model has invented one")
    approve(lena, name="Lena Fischer", email="lena@example.org", title="Project Lead")
    approve(scan, name="Sam Scan", email="sam@example.org", title="Carpenter")
    waited(
        lambda: len(mails_to(around.box, "lena@example.org") + mails_to(around.box, "sam@example.org")) == 2,
        "their mails",
    )
    check(True, "the candidates get a mail each: by TLS, after what the person approved was stored")


def certain(desk, around):
    """A CV whose values are all in its text; the answer of the model is planted, as the small one seldom gets all of them right."""
    lines, person = pdfs.person("one")
    around.faults.play({lines[0]: [json.dumps(person)]}, then="model")
    sent = uploaded(desk, pdfs.cv(*lines))
    waited(lambda: state(sent["job"]) == "completed", "the CV to be read")
    log = [line.message for line in app.logs(sent["job"])]
    check(f"Extracted {sum(map(len, lines)) + 2} characters" in log, f"{', '.join(person.values())}: {log[0]}")
    check(ready(sent).email == person["email"], "the profile is written with the end of the job, in one transaction")


def approve(sent, **person):
    """Correct what is wrong, and approve."""
    output = app.get(sent["job"]).result
    app.approve(sent["job"], "asked by phone", output={**output, "structured": person}, **RECRUITER)
    profile = waited(lambda: ready(sent), f"the profile of {person['name']}")
    check(
        (profile.email, profile.stored) == (person["email"], 1) and state(sent["job"]) == "completed",
        f"rita corrects and approves: {person['name']}, {person['email']}",
    )


def ready(sent):
    found = database.profile(sent["profileId"])
    return found if found.status == "ready" else None


def mails_to(box, address):
    return [mail for to, mail in list(box.got) if to == [address]]


def mailing(box):
    """Mails in batches, under one rate; a server that is busy, and one address that does not exist."""
    heading(f"A batch of {BATCH} mails, at most 40 a second")
    box.replies, box.refusals = ["451 busy, try again"], {"r07@example.org": "550 no such person"}
    readers = [{"to": f"r{n:02}@example.org", "data": {"name": f"Reader {n}"}} for n in range(BATCH)]
    batch = mails.emails.options(ref="batch/1").enqueue("news", readers, {"month": "May"})
    jobs = waited(lambda: ended(app.list(f"parent:{batch.id}", limit=100)), "the mails")
    dead = [job for job in jobs if job.state == "dead"]
    check(len(jobs) == BATCH and len(dead) == 1, f"{BATCH - 1} are sent; one is dead at once, with code {dead[0].code}")
    again = [job for job in jobs if job.attempt == 2]
    check(len(again) == 1 and again[0].state == "completed", "one was refused with 451: its next attempt gets 250")
    check(busiest(jobs) <= 50, f"at most {busiest(jobs)} of them have started in any one second")
    ids = [mail["Message-ID"] for n in range(BATCH) for mail in mails_to(box, f"r{n:02}@example.org")]
    check(len(ids) == len(set(ids)) == BATCH - 1, "nobody has got a mail twice")


def ended(jobs):
    return jobs if jobs and all(job.state in ("completed", "dead") for job in jobs) else None


def busiest(jobs):
    """The most jobs that have started within one second."""
    starts = sorted(attempt.started_at for job in jobs for attempt in app.attempts(job.id))
    return max(sum(0 <= (other - one).total_seconds() < 1 for other in starts) for one in starts)


def failing_source(services):
    """A source that fails on its third page."""
    heading("The source of candidates fails on page 3")
    services.faults, services.people, before = {"20": 1}, {}, len(services.pages)
    job = sync.http_sync.enqueue("candidates", "crm")
    waited(lambda: app.get(job).state == "scheduled", "the first attempt to fail")
    wait = (app.get(job).run_at - app.attempts(job)[-1].ended_at).total_seconds()
    check(59 < wait < 91, f"the attempt fails with 500; the next is {wait:.0f} s later")
    app.bulk(ids=[job]).reschedule(delay=0, actor="operator")
    result = job.result(timeout=60)
    check(
        services.pages[before:] == ["0", "10", "20", "20", "30", "40"],
        "an operator runs it now: it goes on with page 3",
    )
    check(len(services.people) == result["synced"] == ROWS, f"{ROWS} candidates are copied, none twice, no error")
