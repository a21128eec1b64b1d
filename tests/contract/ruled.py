"""Drafts with rules, and what operators set, for the contract tests of flow control (docs/decisions/0028)."""

from mainstay.core import rules
from mainstay.core.job import Rule
from tests.contract.building import draft

US = 1_000  # microseconds in a millisecond


def ruled(carried, type="work", **given):
    """A draft that carries these rules, as the application makes it."""
    return draft(type, rules=rules.pack(carried), waits=rules.waits_at_first(carried), **given)


def limited(key="", running=1, name="mail", **given):
    """A draft with one limit."""
    return ruled({"limits": [[name, key, running]]}, **given)


def rated(key="", every=1_000, burst=1, name="api", **given):
    """A draft with one rate: a start every so many ms."""
    return ruled({"rates": [[name, key, every * US, burst]]}, **given)


def after(*parents, then="cancel", **given):
    """A draft that waits for parents."""
    return ruled({"after": then}, after=parents, **given)


def fair(tenant, weight=1, queue="default", **given):
    """A draft of a tenant in a fair queue."""
    return ruled({"fair": [queue, tenant, weight]}, tenant=tenant, queue=queue, **given)


def watched(failures=0.5, of=4, rest=1_000, **given):
    """A draft whose type has a breaker."""
    return ruled({"breaker": [failures, of, rest]}, **given)


class Operator:
    """What an operator sets, at the time of a desk."""

    def __init__(self, desk):
        self.desk, self.store = desk, desk.store

    def set(self, kind, name, actor="me", reason="", **value):
        return self.store.set_rule(Rule(kind, name, value, actor, self.desk.now, reason))

    def remove(self, kind, name, actor="me"):
        return self.store.set_rule(Rule(kind, name, {}, actor, self.desk.now), remove=True)

    def pause(self, name):
        return self.set("pause", name)

    def resume(self, name):
        return self.remove("pause", name)


def send(desk, *drafts):
    """The ids of drafts that are enqueued together."""
    return [job_id for job_id, _ in desk.store.enqueue(list(drafts), desk.now)]


def states(desk, *ids):
    """The first letters of the states of jobs: q, s, b, r, c, d; x for cancelled, - for none."""
    found = [desk.state(job_id) or "-" for job_id in ids]
    return "".join("x" if state == "cancelled" else "v" if state == "review" else state[0] for state in found)


def held(desk):
    """The slots with holders or jobs in line: (holders, waiting) of each."""
    return {info.slot: (info.holders, info.waiting) for info in desk.store.slots(1_000, 1_000)}
