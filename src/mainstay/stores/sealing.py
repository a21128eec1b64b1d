"""Values as an encrypted store keeps them, and back: drafts, outcomes, reports, reviews, schedules, edits, histories.

Each value is bound to what it is, and to its job where the id is known when it is written (`core.keyring`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from ..core import change
from ..core.alerts import Alert
from ..core.decide import Completed
from ..core.draft import Draft
from ..core.errors import UsageError
from ..core.ids import IDS
from ..core.keyring import MARK
from ..core.rules import INCOMING, INCOMING_SECRET, SCHEDULE, SIGNING, SUBSCRIPTION, TROUBLE, WEBHOOK
from ..core.updates import Checkpoint, Line, Log, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..core.bulk import Bulk
    from ..core.change import Edit
    from ..core.decide import Transition
    from ..core.export import ActionRecord, JobHistory, LogRecord
    from ..core.job import Action, Job, LogLine, Rule
    from ..core.keyring import Keyring
    from ..core.updates import Update

Row = TypeVar("Row", bound=Any)
TEXT = Alert._fields.index("text")
SECRETS = (SIGNING, INCOMING_SECRET)  # kinds of rules that are secrets
# Values of rules that are sealed: a URL may have a token in it, arguments may be private.
PRIVATE = {WEBHOOK: ("url", "description"), SUBSCRIPTION: ("args",), INCOMING: ("args",)}
SEALED_KINDS = (SCHEDULE, TROUBLE, *SECRETS, *PRIVATE)  # of rules that have sealed texts
SAID = ("note", "with", "before", "after", "payload")  # names of texts in the detail of an action
NOTE = "note"  # the place of what the audit trail says, and of a reason that an operator gave


class SealedDraft(Draft):
    """A draft whose payload is sealed; `plain` is the payload as it was given, for keys that follow from it."""

    __slots__ = ("plain",)


class Sealer:
    """Seals values with a keyring and opens them. What cannot be opened stays as it is stored: it is visible, and no JSON."""

    def __init__(self, ring: Keyring) -> None:
        self.ring = ring

    def seal(self, text: str | None, *place: str) -> str | None:
        return None if text is None else self.ring.seal(text, " ".join(place))

    def open(self, text: str | None, *place: str) -> str | None:
        if text is None or MARK not in text:
            return text
        return self.ring.opened_within(text, " ".join(place), place[0], NOTE)

    def note(self, note: str) -> str:
        return self.ring.seal(note, NOTE) if note else ""

    def bulk(self, bulk: Bulk | None) -> Bulk | None:
        """Return a bulk action with its arguments sealed: what is set may be a secret."""
        return bulk if bulk is None or not bulk.told else bulk._replace(told=self.given(bulk.told))

    def given(self, detail: Mapping[str, Any]) -> dict[str, Any]:
        """Return the detail of a bulk action with its arguments sealed."""
        return {name: self.note(value) if name == "with" and value else value for name, value in detail.items()}

    def sealed(self, row: Row, names: Iterable[str], job: str) -> Row:
        """Return a row with these texts sealed."""
        found: Row = row._replace(**{name: self.seal(getattr(row, name), name, job) for name in names})
        return found

    def opened(self, row: Row, names: Iterable[str], job: str) -> Row:
        """Return a row with these texts opened."""
        found: Row = row._replace(**{name: self.open(getattr(row, name), name, job) for name in names})
        return found

    # payloads -----------------------------------------------------------------------------------------------------
    def payload(self, text: str, job: str, type: str) -> str:
        """Return the payload of a job opened."""
        return self.ring.opened_within(text, *payload_places(job, type))

    def drafts(self, drafts: Sequence[Draft], now: int) -> list[Draft]:
        """Return drafts as they are stored. They get their ids here: a payload is bound to the id of its job.

        One that may take the place of another is bound to its type: the job keeps its id.
        """
        IDS.give(drafts, now)
        return [self._draft(draft) for draft in drafts]

    def _draft(self, draft: Draft) -> Draft:
        if draft.payload.startswith(MARK):
            raise UsageError(
                f"the payload of this {draft.type} is encrypted, and its key is not here: it cannot be enqueued"
            )
        kept = draft.on_conflict != "replace" and draft.undeclared is None
        made = SealedDraft(**draft.values())
        # A slot in place of the property.
        made.plain = draft.payload  # type: ignore[misc]
        made.payload = self.ring.seal(draft.payload, f"payload {draft.id if kept else draft.type}")
        return made

    def edit(self, edit: Edit, job: str, stored: Job | None) -> Edit:
        """Return an edit as the engine compares and writes it. What the payload was is what is stored, if that says the same."""
        said, raw = change.told(edit), stored.payload if stored else ""
        same = stored is not None and self.payload(raw, job, stored.type) == edit.was
        made = raw if same and not said else self.ring.seal(edit.payload, f"payload {job}")
        return edit._replace(was=raw if same else edit.was, payload=made, told=self.note(said))

    # what attempts leave ------------------------------------------------------------------------------------------
    def ends(self, transitions: Sequence[Transition], now: int) -> list[Transition]:
        """Return transitions as they are stored; nearly all have nothing to seal."""
        return [each if isinstance(each, Completed) else self._end(each, now) for each in transitions]

    def _end(self, end: Transition, now: int) -> Transition:
        found = self.sealed(end, ("error", "traceback", "result", "reason"), end.id)
        children = tuple(self.drafts(end.children, now)) if end.children else ()
        return found._replace(children=children, review=self.review(end.review, end.id))

    def update(self, update: Update) -> Update:
        """Return a report as it is stored. It does not say the id of its job."""
        if isinstance(update, Log):
            if update.lines is not None:  # of several, each is sealed: engines take them apart
                return update._replace(
                    message=_dumps([self._line(Line._make(each)) for each in json.loads(update.message)])
                )
            return self._line(update)
        if isinstance(update, Progress):
            return update._replace(details=self.fields(update.details))
        if isinstance(update, Checkpoint):
            return update._replace(body=self.ring.seal(update.body, "checkpoint"))
        return update

    def _line(self, line: Row) -> Row:
        found: Row = line._replace(message=self.ring.seal(line.message, "message"), fields=self.fields(line.fields))
        return found

    def fields(self, text: str | None) -> str | None:
        """Return the fields of a log line, or details of progress, as they are stored: engines read them as JSON."""
        return None if text is None else json.dumps({MARK: self.ring.seal(text, "fields")})

    def opened_fields(self, found: dict[str, Any]) -> dict[str, Any]:
        if MARK not in found:
            return found
        text = self.ring.opened_within(found[MARK], "fields")
        opened: dict[str, Any] = found if text.startswith(MARK) else json.loads(text)
        return opened

    def record(self, line: LogRecord) -> LogRecord:
        return self.opened(line, ("message",), line.job)._replace(fields=self._text(line.fields))

    def line(self, line: LogLine) -> LogLine:
        return self.opened(line, ("message",), "")._replace(fields=self.opened_fields(line.fields))

    def review(self, text: str | None, job: str, opened: bool = False) -> str | None:
        """Return a review with its question sealed, or opened: the rest of it is for the engine."""
        if text is None:
            return None
        found = json.loads(text)
        turn = self.open if opened else self.seal
        made = found | {"question": turn(found["question"], "question", job)}
        return json.dumps(made, ensure_ascii=False, separators=(",", ":"))

    def job(self, job: Job) -> Job:
        """Return a job opened."""
        return self.opened(job, ("error", "reason"), job.id)._replace(
            payload=self.payload(job.payload, job.id, job.type), review=self.review(job.review, job.id, opened=True),
            details=self._text(job.details),
        )  # fmt: skip

    def action(self, action: Action) -> Action:
        return action._replace(detail=self._detail(action.detail, action.job))

    def _detail(self, value: Any, job: str | None) -> Any:
        """Return what the audit trail says of an action, opened: notes, edited payloads and outputs, schedules."""
        if isinstance(value, dict):
            return {name: self._detail(each, job) for name, each in value.items()}
        return self.ring.opened_within(value, NOTE, f"result {job}") if isinstance(value, str) else value

    def _said(self, action: ActionRecord) -> ActionRecord:
        """Return an action with what it says of jobs sealed."""
        found = json.loads(action.detail)
        made = {
            name: self.note(each) if name in SAID and isinstance(each, str) else each for name, each in found.items()
        }
        return action._replace(detail=_dumps(made))

    # schedules ----------------------------------------------------------------------------------------------------
    def rule(self, rule: Rule, opened: bool = False) -> Rule:
        """Return a rule; of a schedule, with its payloads sealed or opened; of an incident, with what it says."""
        return rule._replace(value=self.value(rule.kind, rule.value, opened))

    def value(self, kind: str, value: Mapping[str, Any], opened: bool = False) -> dict[str, Any]:
        """Return the value of a rule, sealed or opened."""
        if kind == SCHEDULE:
            return self.schedule(value, opened)
        turn = self.open if opened else self.seal
        if kind in SECRETS:
            return {**value, "secrets": [[turn(secret, kind), until] for secret, until in value.get("secrets", ())]}
        if kind in PRIVATE:
            hidden = PRIVATE[kind]
            made = {name: turn(each, NOTE) if name in hidden else each for name, each in value.get("set", {}).items()}
            return {**value, "set": made} if made else dict(value)
        return self._incident(value, turn) if kind == TROUBLE else dict(value)

    def _incident(self, value: Mapping[str, Any], turn: Callable[..., str | None]) -> dict[str, Any]:
        """Return an incident: its text, and that of each notice that is owed, may quote the error of a job."""
        made = dict(value)
        if "alert" in made:
            made["alert"] = [turn(each, NOTE) if place == TEXT else each for place, each in enumerate(made["alert"])]
        if "owed" in made:
            made["owed"] = [self._incident(each, turn) for each in made["owed"]]
        return made

    def schedule(self, value: Mapping[str, Any], opened: bool = False) -> dict[str, Any]:
        """Return the value of a schedule with the payloads in it sealed, or opened."""
        turn, made = self.open if opened else self.seal, dict(value)
        for part in ("declared", "set"):
            job = (made.get(part) or {}).get("job")
            if job:
                made[part] = {**made[part], "job": {**job, "payload": turn(job["payload"], NOTE)}}
        return made

    def declared(self, rule: Rule, stored: Mapping[str, Any] | None) -> Rule:
        """Return what code declares of a schedule; as it is stored if that says the same, so that nothing changes."""
        if rule.kind != SCHEDULE:
            return rule
        raw = (stored or {}).get("declared")
        same = self.schedule({"declared": raw}, opened=True)["declared"] == rule.value
        return rule._replace(value=dict(raw) if raw and same else self.schedule({"declared": rule.value})["declared"])

    # files --------------------------------------------------------------------------------------------------------
    def history(self, history: JobHistory) -> JobHistory:
        """Return a job with its history opened."""
        job, id = history.job, history.job.id
        found = self.opened(job, ("result", "checkpoint", "reason"), id)
        return history._replace(
            job=found._replace(
                payload=self.payload(job.payload, id, job.type), review=self.review(job.review, id, opened=True), details=self._text(job.details),
                children=_children(job.children, self.payload),
            ),
            attempts=[self.opened(each, ("error", "traceback"), id) for each in history.attempts],
            logs=list(map(self.record, history.logs)),
            actions=[each._replace(detail=_dumps(self._detail(json.loads(each.detail), id))) for each in history.actions],
        )  # fmt: skip

    def _text(self, fields: str | None) -> str | None:
        """Return fields, or details, opened, as the text that they were; as they are stored if they cannot be."""
        found = json.loads(fields) if fields is not None and MARK in fields else {}
        text = self.ring.opened_within(found[MARK], "fields") if MARK in found else MARK
        return fields if text.startswith(MARK) else text

    def sealed_history(self, history: JobHistory) -> JobHistory:
        """Return a job with its history as it is stored."""
        id = history.job.id
        job = self.sealed(history.job, ("payload", "result", "checkpoint", "reason"), id)
        return history._replace(
            job=job._replace(
                review=self.review(job.review, id), details=self.fields(job.details),
                children=_children(job.children, lambda text, child, _: self.ring.seal(text, f"payload {child}")),
            ),
            attempts=[self.sealed(each, ("error", "traceback"), id) for each in history.attempts],
            logs=list(map(self._line, history.logs)),
            actions=list(map(self._said, history.actions)),
        )  # fmt: skip


def payload_places(job: str, type: str) -> tuple[str, str]:
    """Return the places for which a payload may be sealed."""
    return f"payload {job}", f"payload {type}"


def _children(text: str | None, turn: Callable[[str, str, str], str]) -> str | None:
    """Return drafts that wait for a review, with their payloads sealed or opened."""
    if text is None:
        return None
    return _dumps([each | {"payload": turn(each["payload"], each["id"], each["type"])} for each in json.loads(text)])


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
