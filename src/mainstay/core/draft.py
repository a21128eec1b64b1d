"""A job before the store has accepted it. On the cold path of every producer: plain slots, nothing imported."""

from __future__ import annotations

from .clock import DAY, MINUTE
from .errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

ATTEMPTS = 3
TIMEOUT = 5 * MINUTE
KEEP = 7 * DAY
DEFAULT_QUEUE = "default"


class Draft:
    """One job to be enqueued, with the policy that travels on it. `.prepare(…)` returns one."""

    __slots__ = (
        "accepted", "after", "backoff", "created_at", "id", "keep", "keep_cancelled", "keep_dead", "keep_last",
        "key", "lock", "lock_until", "max_attempts", "on_conflict", "parent",
        "payload", "priority", "queue", "ref", "rules", "run_at", "schedule", "start_by", "tags", "tenant", "tick", "timeout", "trace", "type",
        "undeclared", "version", "waits",
    )  # fmt: skip

    def __init__(self, type: str, payload: str, **given: Any) -> None:
        self.type, self.payload = type, payload
        self.id: str = ""
        self.queue: str = DEFAULT_QUEUE
        self.priority: int = 0
        self.created_at: int = 0
        self.run_at: int | None = None  # None: may run at once
        self.max_attempts: int = ATTEMPTS
        self.backoff: str | None = None
        self.timeout: int | None = TIMEOUT
        self.keep: int | None = KEEP  # None: for ever
        self.keep_cancelled: int | None = None  # None: as `keep`; this and the next: `core.retention`
        self.keep_dead: int | None = None  # None: for ever
        self.keep_last: int | None = None  # None: all
        self.key: str | None = None
        self.lock: str | None = None  # what must be unique; None: nothing
        self.lock_until: int | None = None  # None: while the job is alive; 0: until it starts; see `core.keys`
        self.on_conflict: str = "existing"
        self.tenant: str | None = None
        self.ref: str | None = None
        self.tags: tuple[str, ...] = ()
        self.parent: str | None = None
        self.after: tuple[str, ...] = ()  # the jobs that must have completed before
        self.start_by: int | None = None
        self.rules: str | None = None  # what may hold the job back, see `core.rules`
        self.waits: str | None = None  # for what it waits at first; None: it may be queued at once
        self.schedule: str | None = None  # whose tick made the job …
        self.tick: int | None = None  # … and that tick's instant
        self.trace: str | None = None  # the span that enqueued the job, as W3C traceparent
        self.version: int = 1  # of the payload: what its type's code was when it was made
        self.undeclared: tuple[str, ...] | None = None  # set where the producer lacks the type: what it chose itself
        self.accepted: bool = False  # an enqueue has returned; until then, sending it again means the same job
        for name, value in given.items():
            setattr(self, name, value)

    @property
    def plain(self) -> str:
        """The payload as it was given; `payload` is what is stored, which may be encrypted."""
        return self.payload

    def follow(self, policy: dict[str, Any]) -> None:
        """Take over the queue and policy with which a worker registered the type, except what the producer chose itself."""
        for name, value in policy.items():
            if name in Draft.__slots__ and name not in (self.undeclared or ()):
                setattr(self, name, value)
        if policy.get("limits") or policy.get("breaker"):
            from .limits import follow_policy

            follow_policy(self, policy)
        if policy.get("key_rule"):
            from .keys import follow

            follow(self, policy["key_rule"])

    def values(self) -> dict[str, Any]:
        """Return everything that this draft asks for, as JSON can hold it; `restored` reads it."""
        return {name: getattr(self, name) for name in Draft.__slots__}

    def again(self) -> Draft:
        """Return a copy. If this draft was accepted, the copy is another job."""
        copy = restored(self.values())
        if copy.accepted:
            copy.id, copy.created_at, copy.accepted = "", 0, False
        return copy

    def __repr__(self) -> str:
        return f"<Draft {self.type} {self.payload[:60]}>"


def restored(values: dict[str, Any]) -> Draft:
    """Return the draft of which these are the values."""
    draft = Draft(**values)
    draft.tags, draft.undeclared = tuple(draft.tags), None if draft.undeclared is None else tuple(draft.undeclared)
    draft.after = tuple(draft.after)
    return draft


def pack_drafts(drafts: Iterable[Draft]) -> str:
    """Return drafts as the text in which a store keeps the children of a job in review."""
    import json

    return json.dumps([draft.values() for draft in drafts], ensure_ascii=False, separators=(",", ":"))


def unpack_drafts(text: str | None) -> list[Draft]:
    """Return the drafts in a text of `pack_drafts`."""
    import json

    return [restored(values) for values in json.loads(text or "[]")]


def distinct(drafts: list[Draft]) -> list[Draft]:
    """Return the drafts, with a copy wherever one is given for the second time: it is another job."""
    if len(drafts) == 1 or len(set(map(id, drafts))) == len(drafts):
        return drafts
    first = {id(draft): place for place, draft in reversed(list(enumerate(drafts)))}
    return [draft if first[id(draft)] == place else draft.again() for place, draft in enumerate(drafts)]


def prepared(job: Draft) -> Draft:
    """Return a draft that is to be accepted: the one given, or a copy of one that was accepted already."""
    if type(job) is not Draft:
        raise UsageError(f"{job!r} is not a prepared job: give f.prepare(…), or the name of a type")
    return job.again() if job.accepted else job
