"""What must hold of the keys of a Redis store: each belongs to a job that exists, and every index agrees with the jobs."""

import json
import os
from collections import Counter, defaultdict

import redis
from msgspec import msgpack

from mainstay.core import rules
from mainstay.stores.redis import header
from mainstay.stores.redis.record import FIELDS, SHORT
from tests.servers.redis import place

ENDED = "cxd"
HELD = rules.PAUSED + "type:nothing"
PLAIN = {
    "schema", "migration", "seq", "actions", "action", "acted", "first_action", "bulk", "bulk_of", "rings", "armed", "gone", "workers", "worker", "declared",
    "beat", "wanted", "type", "setting", "setting_note", "seen", "stalled", "key", "keys", "ruled", "rule:pause", "rule:type", "rule:queue", "rule:limit",
    "rule:breaker", "rule:schedule", "rule:tick", "rule:triage", "rule:trouble", "rule:watch", "rule:webhook", "rule:webhook_secret", "rule:webhook_incoming",
    "rule:webhook_incoming_secret", "rule:subscription", "rule:token", "rule:token_hash", "rule:session", "schedules", "outcomes", "meter", "pushed", "walks", "walked", "looked", "swept", "flow", "kept",
}  # fmt: skip
PASSING = ("bell:",)  # markers of notifications, which expire
_open = {}


class Keys:
    """The keys of one installation."""

    def __init__(self, url):
        url, self.prefix = place(url)
        if (os.getpid(), url) not in _open:
            _open[os.getpid(), url] = redis.Redis.from_url(url, decode_responses=True)
        self.client = _open[os.getpid(), url]

    def jobs(self):
        """Every job's record, by id."""
        raw = redis.Redis(connection_pool=binary(self.client)).hgetall(self.prefix + "job")
        return {id.decode(): record(msgpack.decode(text)) for id, text in raw.items()}

    def content(self):
        """Every key without the prefix, and the members or fields under it."""
        keys = list(self.client.scan_iter(self.prefix.replace("[", "\\[") + "*", count=10_000))
        return {key.removeprefix(self.prefix): self.members(key) for key in keys if not key.endswith(":job")}

    def members(self, key):
        reading = {"zset": lambda: set(self.client.zrange(key, 0, -1)), "set": lambda: self.client.smembers(key),
                   "hash": lambda: self.client.hgetall(key)}  # fmt: skip
        return reading.get(self.client.type(key), lambda: None)()


def record(values):
    """A record by field; that of a plain job lacks the last ones."""
    assert len(values) in (SHORT, len(FIELDS)), values
    return dict.fromkeys(FIELDS, False) | dict(zip(FIELDS, values, strict=False))


def binary(client):
    """Connections to the same server that return bytes."""
    given = client.connection_pool.connection_kwargs | {"decode_responses": False}
    return redis.ConnectionPool(**given)


def expected(jobs):
    """Return the indexes that the jobs call for."""
    found = defaultdict(set)
    for id, job in jobs.items():
        state, member = job["state"], job["seq"] + id
        found["ids"].add(id)
        if state == "q":
            found["queue:" + job["lane"]].add(member)
        elif state == "s":
            found["due"].add(member)
        elif state == "r":
            found["run:" + job["worker"]].add(id)
        elif state == "v":
            found["review"].add(id)
        elif state in ENDED:
            found["ended:" + state].add(id)
        if state == "d":
            found["dead"].add(id)
        if state in ENDED and job["expires_at"]:
            found["expiry"].add(id)
        if state in ENDED and header.read(job["header"])["keep_last"] is not None:
            found[f"kept:{state}:{header.of_lane(job['lane'])[1]}"].add(id)
        if state == "r" and job["cancel_at"]:
            found["stop:" + job["worker"]].add(id)
        found["terms"] |= {term + id for term in job["terms"] or ()}
        for key in ruled(id, job):
            found[key].add(id if key == "start_by" else member)
    return {key: members for key, members in found.items() if members}


def ruled(id, job):
    """Return the indexes that only jobs with rules are in."""
    state, carried = job["state"], rules.unpack(job["rules"] or None)
    if state == "b" and job["waits"] is not False:
        yield "wait:" + job["waits"]
    assert state == "b" or job["waits"] is False, (id, job)
    assert state == "s" or not job["rated"], (id, job)
    if state in "qsb" and job["start_by"] and not job["started_at"]:
        yield "start_by"
    if state in "qr":
        yield from ("hold:" + slot for slot in rules.limit_slots(carried))
    if state == "q" or job["rated"]:
        yield from ("hold:" + slot for slot in rules.rate_slots(carried))


def line_of(kept):
    """Return the name of a line that is kept to be examined: as it is, or in the rules of a job with one limit."""
    return rules.limit_slots(rules.unpack(kept))[0] if kept.startswith("{") else kept


def check_lines(jobs, content):
    """Fail unless the keys of flow control agree with the jobs and with each other. Removes those that no job calls for."""
    lines, woken, ending = (
        content.pop("lines", set()),
        set(map(line_of, content.pop("woken", ()))),
        content.pop("ending", {}),
    )
    used = {name[5:] for name in content if name.startswith(("wait:", "hold:"))}
    assert used <= lines, "`lines` names every line and slot in use"
    counting, depth = content.pop("counting", {}), content.pop("depth", {})
    waiting = Counter(header.of_lane(job["lane"])[0] for job in jobs.values() if job["state"] in "qsb")
    for queue, number in depth.items():
        assert queue in counting or int(number) == waiting[queue], (
            f"{queue}: {number} of {waiting[queue]} jobs are counted"
        )
    links = content.pop("after", set())
    for link in links:
        first, second = link[1:].split("\0")
        assert {"c": "p", "p": "c"}[link[0]] + second + "\0" + first in links
        child, parent = (first, second) if link[0] == "c" else (second, first)
        assert jobs[child]["state"] in "bs", (child, jobs[child])
        assert parent not in jobs or jobs[parent]["awaited"], (parent, jobs[parent])
    for child in [id for id, job in jobs.items() if job["waits"] == "|parents"]:
        parents = [link.partition("\0")[2] for link in links if link.startswith(f"c{child}\0")]
        waits = any(parent in jobs and jobs[parent]["state"] not in ENDED for parent in parents)
        assert waits or ending.keys() & set(parents), f"{child} waits for nobody: {parents}"
    for slot in [name[5:] for name in content if name.startswith("wait:") and "\n" in name]:
        head = content["wait:" + slot]
        if slot not in woken and not slot.endswith("\nrate"):
            carried = [limit for each in head for limit in rules.unpack(jobs[each[12:]]["rules"])["limits"]]
            least = min(number for name, key, number in carried if rules.slot(name, key) == slot)
            yield slot, len(content.get("hold:" + slot, ())), least


def check(store):
    """Fail unless every key is one that the jobs call for."""
    keys = Keys(store.url)
    jobs, content = keys.jobs(), keys.content()
    limits = {name: json.loads(text)["value"] for name, text in (content.get("rule:limit") or {}).items()}
    queues = content.get("rule:queue") or {}
    for name in PLAIN:
        content.pop(name, None)
    for slot, holders, least in check_lines(jobs, content):
        known = rules.limit_of(slot)[0]
        assert holders >= least or known in limits or known.removeprefix("queue:") in queues, f"{slot!r} has room"
    assert content.pop("payload", {}).keys() == jobs.keys(), "a payload for every job, and none besides"
    held = {job["lock"]: id for id, job in jobs.items() if job["held"]}
    assert content.pop("lock", {}) == held, "a lock is held by the job that says so"
    assert content.pop("review_due", set()) <= jobs.keys(), "nothing is due about a job that is gone"
    assert content.pop("warned", set()) <= jobs.keys(), "no job that is gone has warned"
    for name in (
        "result",
        "asked",
        "children",
        "checkpoint",
        "progress",
        "details",
        "error",
        "code",
        "bulks",
        "fingerprint",
    ):
        assert content.pop(name, {}).keys() <= jobs.keys(), f"no {name} without its job"
    for name in [name for name in content if name.startswith(("attempt:", "codes:", "log:", *PASSING))]:
        assert name.startswith(PASSING) or name.partition(":")[2] in jobs, f"no {name} without its job"
        del content[name]
    tallied = [name for name in content if name.startswith("tally:")]
    assert content.pop("tallies", set()) == {content.pop(name) and name[6:] for name in tallied}, (
        "all counters are found"
    )
    check_deliveries(content)
    lanes = content.pop("lanes", set())
    assert content == expected(jobs)
    filled = {name.removeprefix("queue:") for name in content if name.startswith("queue:")}
    assert filled <= lanes, "the set `lanes` names every lane with jobs"
    check_locks(jobs)


def check_deliveries(content):
    """Fail unless each delivery has its place in order, and `deliveries` names each endpoint. Removes them."""
    endpoints = content.pop("deliveries", set())
    for endpoint in endpoints:
        values = content.pop(f"delivery:{endpoint}")
        assert content.pop(f"delivered:{endpoint}") == values.keys(), "all deliveries are in order"
        content.pop(f"failed:{endpoint}", None)


def check_locks(jobs):
    for id, job in jobs.items():
        if job["held"] and job["state"] in ENDED:
            assert job["lock_until"], f"the lock of an ended job holds for a period only: {id} {job}"
        if job["held"] and job["state"] == "r":
            assert job["lock_until"] is False or job["lock_until"] != 0, (
                f"a lock that holds until the start is released once the job runs: {id} {job}"
            )


def block(store, job_id):
    """Make a queued job a blocked one."""
    keys = Keys(store.url)
    job = keys.jobs()[job_id]
    member, queue = job["seq"] + job_id, keys.prefix + "queue:" + job["lane"]
    score = keys.client.zscore(queue, member)
    keys.client.zrem(queue, member)
    fields = dict.fromkeys(FIELDS, False) | job | {"state": "b", "waits": HELD}
    keys.client.hset(keys.prefix + "job", job_id, msgpack.encode(list(fields.values())))
    keys.client.zadd(keys.prefix + "wait:" + HELD, {member: score})
    keys.client.zadd(keys.prefix + "lines", {HELD: 0})
