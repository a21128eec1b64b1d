"""What must hold of the keys of a Redis store: each belongs to a job that exists, and every index agrees with the jobs."""

import os
from collections import defaultdict

import redis
from msgspec import msgpack

from mainstay.stores.redis.record import FIELDS
from tests.servers.redis import place

ENDED = "cxd"
PLAIN = {
    "schema", "migration", "seq", "actions", "action", "acted", "first_action", "bulk", "bulk_of", "rings", "armed", "gone", "workers", "worker", "declared",
    "beat", "type", "setting", "seen", "stalled",
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
        return {id.decode(): dict(zip(FIELDS, msgpack.decode(text), strict=True)) for id, text in raw.items()}

    def content(self):
        """Every key without the prefix, and the members or fields under it."""
        keys = list(self.client.scan_iter(self.prefix.replace("[", "\\[") + "*", count=10_000))
        return {key.removeprefix(self.prefix): self.members(key) for key in keys if not key.endswith(":job")}

    def members(self, key):
        reading = {"zset": lambda: set(self.client.zrange(key, 0, -1)), "set": lambda: self.client.smembers(key),
                   "hash": lambda: self.client.hgetall(key)}  # fmt: skip
        return reading.get(self.client.type(key), lambda: None)()


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
        if state == "r" and job["cancel_at"]:
            found["stop:" + job["worker"]].add(id)
        found["terms"] |= {term + id for term in job["terms"] or ()}
    return {key: members for key, members in found.items() if members}


def check(store):
    """Fail unless every key is one that the jobs call for."""
    keys = Keys(store.url)
    jobs, content = keys.jobs(), keys.content()
    for name in PLAIN:
        content.pop(name, None)
    assert content.pop("payload", {}).keys() == jobs.keys(), "a payload for every job, and none besides"
    held = {job["lock"]: id for id, job in jobs.items() if job["held"]}
    assert content.pop("lock", {}) == held, "a lock is held by the job that says so"
    for name in ("result", "children", "checkpoint", "progress", "error", "code", "bulks"):
        assert content.pop(name, {}).keys() <= jobs.keys(), f"no {name} without its job"
    for name in [name for name in content if name.startswith(("attempt:", "codes:", "log:", *PASSING))]:
        assert name.startswith(PASSING) or name.partition(":")[2] in jobs, f"no {name} without its job"
        del content[name]
    lanes = content.pop("lanes", set())
    assert content == expected(jobs)
    filled = {name.removeprefix("queue:") for name in content if name.startswith("queue:")}
    assert filled <= lanes, "the set `lanes` names every lane with jobs"
    check_locks(jobs)


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
    keys.client.zrem(keys.prefix + "queue:" + job["lane"], job["seq"] + job_id)
    keys.client.hset(keys.prefix + "job", job_id, msgpack.encode(["b", *list(job.values())[1:]]))
