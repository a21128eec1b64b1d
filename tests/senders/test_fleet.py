"""Two processes look at one installation: each rule fires once and recovers once, by webhook and by mail."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from mainstay import Mainstay, ManualClock
from mainstay.core.alerts import RULES
from mainstay.core.clock import HOUR, MINUTE
from mainstay.core.decide import decide
from mainstay.core.draft import Draft
from mainstay.core.export import DeliveryRecord
from mainstay.core.job import Rule, WorkerInfo
from mainstay.core.outcome import Outcome
from mainstay.stores import open_store

from .receiving import mail_server, receiver
from .test_post import SECRET

DEAD = Outcome("failed", error="Boom: no", retry=False, reason="permanent")
PROCESS = """
import json, sys
from mainstay import Mainstay, ManualClock
from mainstay.upkeep.alerts import Alerts

url, channels = sys.argv[1], json.loads(sys.argv[2])
clock = ManualClock(0)
app = Mainstay(url, clock=clock)
for name, spec in channels.items():
    app.alerts.send_to(name, **spec)
chore = Alerts(app)
for line in sys.stdin:
    clock.move_to(int(line))
    chore.step(clock.now())
    chore.close(60)
    print("looked", flush=True)
"""


class Fleet:
    def __init__(self, url, channels):
        self.clock = ManualClock()
        self.app = Mainstay(store=open_store(url, self.clock), clock=self.clock)
        self.app.store.types()  # opened, so that the others find it made
        command = [sys.executable, "-c", PROCESS, url, json.dumps(channels)]
        self.processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]

    def look(self, after="1m"):
        """Let both look at the same instant, at the same time, and wait until they have told."""
        self.clock.advance(after)
        for process in self.processes:
            process.stdin.write(f"{self.clock.now()}\n")
            process.stdin.flush()
        for process in self.processes:
            assert process.stdout.readline() == "looked\n"

    def close(self):
        for process in self.processes:
            process.communicate(timeout=60)
        self.app.close()


@pytest.fixture
def places(engine_url):
    with receiver() as hook, mail_server() as mail:
        channels = {
            "hook": {"kind": "webhook", "url": hook.url, "secret": SECRET, "allow": ["127.0.0.1"]},
            "mail": mail.options,
        }
        fleet = Fleet(engine_url, channels)
        yield fleet, hook, mail
        fleet.close()


@pytest.mark.engines("sqlite", "postgres18", "valkey")
def test_each_rule_fires_once_and_recovers_once(places):
    fleet, hook, mail = places
    cause(fleet)
    fleet.look("6m")
    for _ in range(2):
        fleet.look()
    opened = {f"{name}.opened": 1 for name in RULES}
    assert told(hook) == opened
    assert len(mail.got) == len(RULES)
    heal(fleet)
    for _ in range(3):
        fleet.look("61m")
    assert told(hook) == opened | {f"{name}.recovered": 1 for name in RULES}
    assert len(mail.got) == 2 * len(RULES)
    subjects = [message["Subject"] for _, message in mail.got]
    assert "[high] audit-export failed for good" in subjects
    assert "[high] Recovered: audit-export failed for good" in subjects


def told(hook):
    found = [json.loads(got.body) for got in hook.got]
    assert len({each["id"] for each in found}) == len(found)
    return Counter(f"{each['rule']}.{each['event'].removeprefix('alert.')}" for each in found)


def cause(fleet):
    """Let every rule have something to say."""
    store, now = fleet.app.store, fleet.clock.now()
    fleet.app.alerts.set("failures", least=2)
    info = WorkerInfo(
        "w1", "h", 1, 500, ("default",), ("mail", "audit-export"), now, now, now + 99 * HOUR, 0, stopping=False
    )
    store.register(info)
    store.enqueue([Draft("mail", "{}"), Draft("audit-export", "{}"), Draft("mail", "{}", timeout=MINUTE)], now)
    one, two, _ = store.claim("w1", {"default": ["mail", "audit-export"]}, 3, now).jobs
    store.finish([decide(job, DEAD, now, lambda: 0.0) for job in (one, two)])
    store.register(info._replace(id="w2", expires_at=now + MINUTE))
    fleet.clock.move_to(now - 2 * HOUR)
    store.enqueue([Draft("mail", "{}") for _ in range(101)], now - 2 * HOUR)
    fleet.clock.move_to(now)
    fleet.app.pause()
    store.set_rule(Rule("breaker", "mail", {"until": now + 99 * HOUR, "rest": HOUR}))
    fleet.app.webhooks.add("https://hooks.example.com/", id="billing")
    store.record_delivery(DeliveryRecord("billing", 0, one.id, 1, 1, 410, 5, "gone", None), now)


def heal(fleet):
    fleet.app.resume()
    fleet.app.close_breaker("mail")
    fleet.app.webhooks.enable("billing")
    for worker in ("w1", "w2"):
        fleet.app.store.deregister(worker)
    (running,) = fleet.app.list("state:running")
    orphans = fleet.app.store.orphans(fleet.clock.now(), MINUTE, 10)
    assert [orphan.job.id for orphan in orphans] == [running.id]
    fleet.app.store.finish([decide(orphan.job, DEAD, fleet.clock.now(), lambda: 0.0) for orphan in orphans])
    fleet.app.bulk(everything=True).delete()
