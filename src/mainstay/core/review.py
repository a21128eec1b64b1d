"""What a review asks: the question, who may decide, until when, and when to remind. Stored as JSON beside the job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from .bulk import NOTE
from .clock import iso, milliseconds
from .errors import NotAllowed, UsageError
from .payload import clean
from .states import REVIEW
from .suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from .job import Action

AT_DEADLINE = ("reject", "approve", "dead")
# The action, and what became of it.
VERDICTS = {True: ("approve", "approved"), False: ("reject", "rejected"), None: ("expire", "expired")}
AGAIN = "asked again"  # why a decision was not taken: it was about an earlier attempt
DEADLINE = "deadline"  # the actor of a decision that a deadline made
ROLE = "role:"  # before a decider that is a role
MOST, LONGEST = 100, 200  # deciders of a review; characters of one
EDITED = 2_000  # characters of an edited output that the audit trail keeps


class Asked(NamedTuple):
    """A review as it is stored. `token` names the attempt that asked: a job that has run again asks anew."""

    question: str
    token: int
    at: int
    expires_at: int | None = None
    at_deadline: str = AT_DEADLINE[0]
    deciders: tuple[str, ...] = ()
    remind: int | None = None  # the period
    remind_at: int | None = None

    @property
    def due(self) -> int | None:
        """When something has to be done: the deadline, or the next reminder."""
        return min((at for at in (self.expires_at, self.remind_at) if at is not None), default=None)

    def over(self, now: int) -> bool:
        """Return whether the deadline has passed."""
        return self.expires_at is not None and self.expires_at <= now

    def reminded(self, now: int) -> Asked:
        """Return the review with its next reminder. Periods that nobody was there for are left out."""
        period = self.remind or 0
        return self._replace(remind_at=self.at + ((now - self.at) // period + 1) * period) if period else self

    def expired(self) -> str:
        """Return the note of a decision that the deadline made."""
        return f"nobody decided by {iso(self.expires_at or 0)}"

    def check(self, actor: str, roles: Collection[str] = ()) -> None:
        """Raise `NotAllowed` unless this actor, or one of the roles, is among the deciders; without deciders anybody may decide."""
        known = {actor} - {name for name in (actor,) if name.startswith(ROLE)} | {ROLE + role for role in roles}
        if self.deciders and not known & {*self.deciders}:
            raise NotAllowed(f"{actor} may not decide this review: {' or '.join(self.deciders)} may")


class LastReview(NamedTuple):
    """What a handler sees of the last review of its job, which runs again after it."""

    question: str
    actor: str  # who let it run again
    note: str


def last(text: str | None, actions: Iterable[Action]) -> LastReview | None:
    """Return the last review of a job that runs, of what it asked and what operators did to the job, newest first."""
    if text is None:
        return None
    retries = (each for each in actions if each.action == "retry" and REVIEW in each.detail.get("from", ()))
    retried = next(retries, None)
    question = unpack(text).question
    return (
        LastReview(question, retried.actor, retried.detail.get(NOTE, "")) if retried else LastReview(question, "", "")
    )


def pack(asked: Asked) -> str:
    """Return a review as JSON; what has its default is left out."""
    fields = asked._asdict()
    given = {name: value for name, value in fields.items() if value != Asked._field_defaults.get(name, ...)}
    return json.dumps(given, ensure_ascii=False, separators=(",", ":"))


def unpack(text: str) -> Asked:
    """Return the review in a text of `pack`."""
    found = json.loads(text)
    return Asked(**found | {"deciders": tuple(found.get("deciders", ()))})


def due(text: str | None) -> int | None:
    """Return when something has to be done about a stored review."""
    return None if text is None else unpack(text).due


def edit(before: str | None, after: str) -> dict[str, str]:
    """Return what the audit trail says about an output that was changed."""
    return {"before": clean(before or "null", EDITED), "after": clean(after, EDITED)}


# what a handler gives -------------------------------------------------------------------------------------------------
def terms(expires: Any, at_deadline: Any, deciders: Any, remind: Any) -> str | None:
    """Check what a handler asks for and return it as JSON; None: nothing beyond the question. Raises `UsageError`."""
    if at_deadline not in AT_DEADLINE:
        near = did_you_mean(str(at_deadline), AT_DEADLINE)
        raise UsageError(f"at_deadline={at_deadline!r}{near}: one of {', '.join(AT_DEADLINE)}")
    given = {
        **(_expiry(expires) if expires is not None else {}),
        "at_deadline": at_deadline,
        "deciders": _deciders(deciders),
        "remind": None if remind is None else _period("remind", remind),
    }
    return json.dumps(given) if any((expires is not None, deciders, remind is not None)) else None


def _expiry(value: Any) -> dict[str, int]:
    if not hasattr(value, "timestamp"):
        return {"expires": _period("expires", value)}
    if value.tzinfo is None:
        raise UsageError(f"expires={value}: has no time zone; give datetime.now(timezone.utc) or another aware one")
    return {"expires_at": int(value.timestamp() * 1000)}


def _period(name: str, value: Any) -> int:
    try:
        found = milliseconds(value)
    except ValueError as error:
        raise UsageError(f"{name}={value!r}: {error}") from None
    if found <= 0:
        raise UsageError(f"{name}={value!r}: give a duration above zero, such as {name}='2d'")
    return found


def _deciders(value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else list(value)
    for name in names:
        if not isinstance(name, str) or not name.removeprefix(ROLE) or len(name) > LONGEST or not name.isprintable():
            raise UsageError(f"deciders: {name!r:.60}: a name such as 'ada', or a role such as 'role:editor'")
    if len(names) > MOST:
        raise UsageError(f"deciders: {len(names)} are too many ({MOST} at most): name a role, such as 'role:editor'")
    return list(dict.fromkeys(names))


def ask(question: str | None, given: str | None, token: int, now: int) -> str:
    """Return the review that an attempt asks for now, as it is stored."""
    found: Mapping[str, Any] = json.loads(given) if given else {}
    asked = Asked(question or "", token, now, found.get("expires_at"), found.get("at_deadline", AT_DEADLINE[0]))
    if "expires" in found:
        asked = asked._replace(expires_at=now + found["expires"])
    asked = asked._replace(deciders=tuple(found.get("deciders", ())), remind=found.get("remind"))
    return pack(asked.reminded(now))
