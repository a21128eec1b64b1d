"""The chapter about crashes: workers are killed at random while CVs, mails, syncs and reports are under way; then all is checked."""

import json
import os
import random
import signal
import threading

from pypdf import PdfReader

from examples.conversation_hook.story import Failed, check, heading, say, waited
from examples.document_desk import database, pdfs
from examples.document_desk.chapters import mails_to, uploaded
from examples.document_desk.jobs import FILES, app, mails, report_generation, sync
from examples.document_desk.world import APP, ROWS
from tests.crash.zygote import Zygote

WORKERS = 3
PATIENCE = 180  # seconds for what is left at the end
ANSWERS = 40  # that the model has ready for each CV
WARM = ("openai", "sqlalchemy.orm", "examples.document_desk.jobs")  # imported once, before the workers are forked


class Orders:
    """What people ask for while workers are killed, and what must be true afterwards."""

    def __init__(self, desk, around, seed):
        self._desk, self._around, self._seed = desk, around, seed
        self.cvs, self.mails, self.syncs, self.reports, self._script = {}, {}, [], {}, {}

    def more(self, number):
        """Upload a CV and send a mail; now and then copy all candidates, or write a report."""
        lines, person = pdfs.person(f"{number:03}")
        self._script[lines[0]] = [{"text": json.dumps(person), "after": self._seed.random() * 0.5}] * ANSWERS
        self._around.faults.play(self._script, then="model")
        self.cvs[number] = uploaded(self._desk, pdfs.cv(*lines)), person
        address = f"k{number:03}@example.org"
        self.mails[address] = mails.email.enqueue("news", address, {"name": "you", "month": "July"})
        if number % 4 == 0:
            self.syncs.append(sync.http_sync.enqueue("candidates", "crm"))
            month = f"2031-{number // 4 % 12 + 1:02}"
            self.reports[month] = report_generation.enqueue(month)

    @property
    def jobs(self):
        handles = [*self.mails.values(), *self.syncs, *self.reports.values()]
        return [*(sent["job"] for sent, _ in self.cvs.values()), *(handle.id for handle in handles)]


def kills(desk, around, most):
    number = random.SystemRandom().randrange(1 << 32)
    heading(f"{WORKERS} workers, of which {most} are killed while they work (seed {number})")
    seed, around.services.pause, around.services.people = random.Random(number), 0.005, {}
    orders = Orders(desk, around, seed)
    with Zygote(around.folder / "errors", also=WARM) as zygote:
        busy = killed(orders, zygote, seed, most)
        finish(orders)
    crashed = sum(each.outcome != "completed" for job in orders.jobs for each in app.attempts(job))
    say(f"{most} workers were killed, {busy} of them while they ran jobs; {crashed} attempts ended with them")
    check(busy > 0 and crashed > 0, f"all {len(orders.jobs)} jobs have completed all the same")
    outcomes(orders, around)


def killed(orders, zygote, seed, most):
    """Kill one worker after the other, at a random moment after something was done; return how many of them ran a job."""

    def started():
        return zygote.fork("tests.examples.roles:work", application=APP, concurrency=4)

    workers, pause, busy = [started() for _ in range(WORKERS)], threading.Event(), 0
    for n in range(most):
        before = done(orders)
        orders.more(n)
        waited(lambda before=before: done(orders) > before, "some job to end")
        pause.wait(seed.random() * 0.5)
        place = seed.randrange(WORKERS)
        pids = {worker.id: worker.pid for worker in app.workers()}
        busy += workers[place] in {pids.get(job.worker) for job in app.list("state:running", limit=100)}
        os.kill(workers[place], signal.SIGKILL)
        zygote.reap(workers[place])
        workers[place] = started()
    return busy


def done(orders):
    return sum(app.get(job).state == "completed" for job in orders.jobs)


def finish(orders):
    """Let the workers end the rest. A job that died only because its workers were killed three times is run again."""

    def over():
        jobs = unfinished(orders)
        for job in (job for job in jobs if job.state == "dead"):
            check("poison" in (job.reason or ""), f"{job.type} died of its workers alone: an operator runs it again")
            app.retry(job.id, "its workers were killed", actor="operator")
        return not jobs

    try:
        waited(over, "all jobs to complete", seconds=PATIENCE)
    except Failed as error:
        left = [f"{job.type} {job.label}, attempt {job.attempt}: {job.error}" for job in unfinished(orders)]
        raise Failed(f"{error}; these have not: {'; '.join(left)}") from None


def unfinished(orders):
    """The jobs that have not completed, and the mails of those CVs that have."""
    jobs = [app.get(job) for job in orders.jobs]
    jobs += [mail for sent, _ in orders.cvs.values() for mail in app.list(f"parent:{sent['job']}")]
    return [job for job in jobs if job.state != "completed"]


def outcomes(orders, around):
    profiles = {number: database.profile(sent["profileId"]) for number, (sent, _) in orders.cvs.items()}
    right = all(
        {name: getattr(profiles[number], name) for name in database.FIELDS} == person
        for number, (_, person) in orders.cvs.items()
    )
    check(
        right and {each.stored for each in profiles.values()} == {1},
        f"{len(profiles)} profiles are right, and stored once",
    )
    asked = all(
        1 <= around.faults.asked(person["name"]) <= len(app.attempts(sent["job"]))
        for sent, person in orders.cvs.values()
    )
    check(asked, "the model was asked once for each, or again after a crash")
    addresses = [*orders.mails, *(person["email"] for _, person in orders.cvs.values())]
    ids = [{mail["Message-ID"] for mail in mails_to(around.box, address)} for address in addresses]
    check(all(len(each) == 1 for each in ids), f"{len(ids)} people got their mail; one that came twice has the same id")
    copied = [handle.result() for handle in orders.syncs]
    check(len(around.services.people) == ROWS and all(each["synced"] == ROWS and not each["failed"] for each in copied), f"{len(copied)} syncs have copied {ROWS} candidates each")  # fmt: skip
    titles = [PdfReader(FILES / f"reports/{month}.pdf").pages[0].extract_text() for month in orders.reports]
    check(all(month in title for month, title in zip(orders.reports, titles, strict=True)), f"{len(titles)} reports are whole")  # fmt: skip
    check(not list(FILES.rglob("*.part")), "no file is half written")
