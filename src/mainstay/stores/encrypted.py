"""An encrypted store: the layer between an application and its store that seals what may be secret, and opens it again (`sealing`).

The engines do not know of it: to them a sealed payload is a payload. Without the variable `MAINSTAY_ENCRYPTION_KEYS` there is no such layer.
What stays readable: types, queues, states, times, tenants, references, tags, keys that a caller gives, codes of errors, names of stages.
"""

from __future__ import annotations

import json
from random import random
from typing import TYPE_CHECKING, Any, Self

from ..core import fields
from ..core.clock import MINUTE
from ..core.decide import decide
from ..core.errors import ConfigError, SchemaMismatch, UsageError, refuse_nul
from ..core.keyring import Unreadable
from ..core.outcome import Outcome
from ..core.rules import SCHEDULE
from ..core.search_terms import possible_id, validate
from .results import ClaimingNotifier
from .sealing import SEALED_KINDS, Sealer, payload_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..core.bulk import Bulk
    from ..core.change import Wish
    from ..core.decide import Transition
    from ..core.draft import Draft
    from ..core.export import ActionRecord, DeliveryRecord, JobHistory, LogRecord
    from ..core.job import Action, Attempt, Claimed, Job, LogLine, Rule
    from ..core.keyring import Keyring
    from ..core.schedule import Fired, Firing
    from ..core.search_terms import Page, Term
    from ..core.updates import Update
    from .contract import Store
    from .operations import Operations
    from .results import Claims, DueReview, SlotOffer

SETTING = "encryption"  # the names of the keys in use, each with a sealed text that only that key opens
ANSWER = ("error", "answer")  # the texts of a delivery
HIDDEN = ("args", "text", "error")  # what no search can look into


class EncryptedStore:
    """A store whose values are sealed. Every verb that is not here passes as it is."""

    def __init__(self, store: Store, ring: Keyring) -> None:
        self.inner, self.ring, self._sealer = store, ring, Sealer(ring)
        # Whether the keys are known to be right; whether the first is in the setting.
        self.verified = self._recorded = False
        fields.hashed = ring.hashed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.inner.close()

    @property
    def sealer(self) -> Sealer:
        """What seals and opens values here. With keys that are not those of the installation, no verb can get it."""
        self.verify()
        return self._sealer

    def verify(self) -> None:
        """Raise `ConfigError` unless the keys that the installation uses are here. Writes nothing, and looks once."""
        if not self.verified:
            self._used()

    def check(self) -> None:
        """Verify the keys, and record the one that seals from now on."""
        if self._recorded:
            return
        used = self._used()
        if used is None:
            return
        if self.ring.first not in used:
            used[self.ring.first] = self.ring.seal("", f"check {self.ring.first}")
            self.inner.seal()
            self.inner.set_setting(SETTING, json.dumps(used), "the keys of this installation; each opens its own text")
        self._recorded = True

    def _used(self) -> dict[str, str] | None:
        try:
            return self.used(self.inner.setting(SETTING))
        except SchemaMismatch:  # no tables yet: what is written next makes them, or says what is wrong
            return None

    def used(self, stored: str | None) -> dict[str, str]:
        """Return the keys in use, each with its text, from the setting as it is stored; raise `ConfigError` unless they are here."""
        used: dict[str, str] = json.loads(stored or "{}")
        for name, sealed in used.items():
            try:
                self.ring.open(sealed, f"check {name}")
            except Unreadable as error:
                raise ConfigError(f"this installation is encrypted. {error}", "mainstay encryption") from None
        self.verified = True
        return used

    def opens(self, name: str, sealed: str) -> bool:
        """Whether the key of that name here is the one with which the installation sealed its text."""
        try:
            self.ring.open(sealed, f"check {name}")
        except Unreadable:
            return False
        return True

    # jobs ---------------------------------------------------------------------------------------------------------
    def enqueue(self, drafts: Sequence[Draft], now: int) -> list[tuple[str, bool]]:
        self.check()
        return self.inner.enqueue(self.sealer.drafts(drafts, now), now)

    def outbox(self) -> SealingOutbox:
        return SealingOutbox(self, self.inner.outbox())

    def claim(
        self, worker: str, wants: Mapping[str, Sequence[str]], limit: int, now: int, finishing: Sequence[Transition] = (),
        updates: Sequence[Update] = (),
    ) -> Claims:  # fmt: skip
        ends, said = self.sealer.ends(finishing, now), list(map(self.sealer.update, updates))
        found = self.inner.claim(worker, wants, limit, now, ends, said)
        return found._replace(jobs=self.opened_claims(found.jobs, now))

    def claimed_by(self, worker: str) -> list[Claimed]:
        found = self.inner.claimed_by(worker)
        return self.opened_claims(found, found[0].started_at) if found else []

    def opened_claims(self, jobs: Sequence[Claimed], now: int) -> list[Claimed]:
        """Return claimed jobs with their payloads. One that cannot be opened ends here; its handler is not called."""
        opened = []
        for job in jobs:
            try:
                payload = self.ring.open(job.payload, *payload_places(job.id, job.type))
            except Unreadable as error:
                self.inner.finish([decide(job, _closed(error), now, random)])
            else:
                opened.append(job._replace(payload=payload))
        return opened

    def finish(self, transitions: Sequence[Transition], updates: Sequence[Update] = ()) -> list[str]:
        now = transitions[0].at if transitions else 0
        return self.inner.finish(self.sealer.ends(transitions, now), list(map(self.sealer.update, updates)))

    def notifier(self, worker: str) -> Any:
        made = self.inner.notifier(worker)
        return SealingNotifier(self, made) if isinstance(made, ClaimingNotifier) else made

    def register(self, *args: Any, **given: Any) -> None:
        self.check()
        self.inner.seal()  # a move brings the setting, but not the mark
        self.inner.register(*args, **given)

    # operators ----------------------------------------------------------------------------------------------------
    def cancel(
        self, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None, note: str = "",
        declared: bool = False,
    ) -> dict[str, str]:  # fmt: skip
        return self.inner.cancel(
            ids, now, actor, _searchable(terms), self.sealer.bulk(bulk), self._note(note), declared
        )

    def retry(
        self, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None, note: str = "",
        declared: bool = False, times: Sequence[int] = (),
    ) -> dict[str, str]:  # fmt: skip
        return self.inner.retry(
            ids, now, actor, _searchable(terms), self.sealer.bulk(bulk), self._note(note), declared, times
        )

    def delete(
        self, ids: Sequence[str], now: int, actor: str, terms: Sequence[Term] = (), bulk: Bulk | None = None, note: str = "",
        declared: bool = False,
    ) -> dict[str, str]:  # fmt: skip
        return self.inner.delete(
            ids, now, actor, _searchable(terms), self.sealer.bulk(bulk), self._note(note), declared
        )

    def _note(self, note: str) -> str:
        refuse_nul(note=note)
        return self.sealer.note(note)

    def change(
        self, ids: Sequence[str], now: int, actor: str, wish: Wish, terms: Sequence[Term] = (), bulk: Bulk | None = None,
        note: str = "",
    ) -> dict[str, str]:  # fmt: skip
        if wish.edits:
            self.check()
            stored = {job.id: job for job in self.inner.get_many(list(wish.edits))}
            edits = {id: self.sealer.edit(edit, id, stored.get(id)) for id, edit in wish.edits.items()}
            wish = wish._replace(edits=edits)
        return self.inner.change(ids, now, actor, wish, _searchable(terms), self.sealer.bulk(bulk), self._note(note))

    def resolve_review(
        self, job_id: str, approve: bool | None, now: int, actor: str, note: str, terms: Sequence[Term] = (),
        bulk: Bulk | None = None, *, output: str | None = None, token: int | None = None, declared: bool = False,
    ) -> str:  # fmt: skip
        sealed = self.sealer.seal(output, "result", job_id)
        return self.inner.resolve_review(
            job_id, approve, now, actor, self._note(note), _searchable(terms), self.sealer.bulk(bulk), output=sealed, token=token, declared=declared
        )  # fmt: skip

    def record_action(self, action: ActionRecord) -> None:
        detail = self.sealer.given(json.loads(action.detail))
        self.inner.record_action(action._replace(detail=json.dumps(detail, ensure_ascii=False)))

    def due_reviews(self, now: int, limit: int) -> list[DueReview]:
        found = self.inner.due_reviews(now, limit)
        return [each._replace(body=self.sealer.review(each.body, each.id, opened=True) or "") for each in found]

    def set_review(self, job_id: str, was: str, body: str, due: int | None) -> bool:
        stored = self.inner.get(job_id)
        raw = stored.review if stored else None
        same = self.sealer.review(raw, job_id, opened=True) == was
        return self.inner.set_review(job_id, raw if raw and same else was, self.sealer.review(body, job_id) or "", due)

    # schedules ----------------------------------------------------------------------------------------------------
    def rules(self, kinds: Sequence[str], name: str | None = None) -> list[Rule]:
        return [self.sealer.rule(rule, opened=True) for rule in self.inner.rules(kinds, name)]

    def set_rule(self, rule: Rule, remove: bool = False, was: tuple[Rule | None] | None = None) -> Rule | None:
        if was is not None and was[0] is not None and rule.kind in SEALED_KINDS:
            was = (was[0]._replace(value=dict(self._stored(rule.kind, was[0].name, was[0].value))),)
        before = self.inner.set_rule(self.sealer.rule(rule), remove, was)
        return before and self.sealer.rule(before, opened=True)

    def declare_rules(self, rules: Sequence[Rule]) -> None:
        self.check()
        scheduled = any(rule.kind == SCHEDULE for rule in rules)
        stored = {rule.name: rule.value for rule in self.inner.rules([SCHEDULE])} if scheduled else {}
        self.inner.declare_rules([self.sealer.declared(rule, stored.get(rule.name)) for rule in rules])

    def fire(self, firings: Sequence[Firing], now: int) -> list[Fired]:
        self.check()
        sealed = [
            each._replace(value=self._stored(SCHEDULE, each.name, each.value), drafts=tuple(self.sealer.drafts(each.drafts, now)))
            for each in firings
        ]  # fmt: skip
        return [
            each._replace(value=each.value and self.sealer.schedule(each.value, opened=True))
            for each in self.inner.fire(sealed, now)
        ]

    def _stored(self, kind: str, name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the value of a rule as it is stored, if that says the same; else as given, which then differs."""
        found = next((rule.value for rule in self.inner.rules([kind], name)), None)
        return found if found is not None and self.sealer.value(kind, found, opened=True) == value else value

    # webhooks -----------------------------------------------------------------------------------------------------
    def record_delivery(self, delivery: DeliveryRecord, now: int) -> str | None:
        return self.inner.record_delivery(self.sealer.sealed(delivery, ANSWER, delivery.job), now)

    def deliveries(self, endpoint: str, limit: int) -> list[DeliveryRecord]:
        return [self.sealer.opened(each, ANSWER, each.job) for each in self.inner.deliveries(endpoint, limit)]

    # observation --------------------------------------------------------------------------------------------------
    def get(self, job_id: str) -> Job | None:
        return next(iter(self.get_many([job_id])), None)

    def get_many(self, ids: Sequence[str]) -> list[Job]:
        return list(map(self.sealer.job, self.inner.get_many(ids)))

    def result(self, job_id: str) -> str | None:
        text = self.inner.result(job_id)
        return None if text is None else self.sealer.ring.open(text, f"result {job_id}")

    def checkpoint(self, job_id: str) -> str | None:
        text = self.inner.checkpoint(job_id)
        return None if text is None else self.sealer.ring.open(text, "checkpoint", f"checkpoint {job_id}")

    def attempts(self, job_id: str) -> list[Attempt]:
        return [self.sealer.opened(each, ("error", "traceback"), job_id) for each in self.inner.attempts(job_id)]

    def logs(self, job_id: str, after: int, limit: int) -> list[LogLine]:
        return list(map(self.sealer.line, self.inner.logs(job_id, after, limit)))

    def warnings(self, since: int, limit: int, after: str | None = None) -> tuple[list[LogRecord], str | None]:
        found, place = self.inner.warnings(since, limit, after)
        return list(map(self.sealer.record, found)), place

    def actions(self, job_id: str | None, limit: int) -> list[Action]:
        return [self.sealer.action(each) for each in self.inner.actions(job_id, limit)]

    def audit(self, limit: int, before: int | None = None) -> list[tuple[int, Action]]:
        found = self.inner.audit(limit, before)
        return [(number, self.sealer.action(each)) for number, each in found]

    def search(self, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
        validate(terms, limit)
        return self.inner.search(_searchable(terms), limit, after, now)

    def count(self, terms: Sequence[Term], now: int, after: str | None = None) -> dict[str, int]:
        return self.inner.count(_searchable(terms), now, after)

    def export_jobs(self, ids: Sequence[str]) -> list[JobHistory]:
        return list(map(self.sealer.history, self.inner.export_jobs(ids)))

    def import_jobs(self, histories: Sequence[JobHistory]) -> list[str]:
        self.check()
        return self.inner.import_jobs(list(map(self.sealer.sealed_history, histories)))


class SealingOutbox:
    """The verbs in a caller's transaction, with values sealed."""

    def __init__(self, store: EncryptedStore, outbox: Any) -> None:
        self._store, self._outbox = store, outbox

    def __getattr__(self, name: str) -> Any:
        return getattr(self._outbox, name)

    def enqueue(self, drafts: Sequence[Draft], now: int) -> Operations[list[tuple[str, bool]]]:
        yield from self._verify()
        found: list[tuple[str, bool]] = yield from self._outbox.enqueue(self._store.sealer.drafts(drafts, now), now)
        return found

    def finish(self, transition: Transition) -> Operations[bool]:
        yield from self._verify()
        applied: bool = yield from self._outbox.finish(*self._store.sealer.ends([transition], transition.at))
        return applied

    def _verify(self) -> Operations[None]:
        """Verify the keys on the caller's connection: the store's own may have to wait for the caller's transaction."""
        if not self._store.verified:
            self._store.used((yield from self._outbox.setting(SETTING)))


class SealingNotifier:
    """A notifier that claims jobs as it is notified, with their payloads opened."""

    def __init__(self, store: EncryptedStore, notifier: ClaimingNotifier) -> None:
        self._store, self._notifier = store, notifier

    def __getattr__(self, name: str) -> Any:
        return getattr(self._notifier, name)

    def wait(self, timeout: int) -> str:
        return self._notifier.wait(timeout)

    def close(self) -> None:
        self._notifier.close()

    def take(self, timeout: int, offer: SlotOffer) -> str:
        opened = offer._replace(take=lambda jobs: offer.take(self._store.opened_claims(jobs, offer.now)))
        return self._notifier.take(timeout, opened)


def _closed(error: Unreadable) -> Outcome:
    """Return how an attempt ends whose payload cannot be opened: a damaged one is dead; without its key it waits, and loses no attempt."""
    if error.missing:  # another worker may have it, or this one when it is restarted
        return Outcome("released", reason=str(error), delay=MINUTE)
    return Outcome("failed", f"Unreadable: {error}", retry=False, reason="it cannot be decrypted")


def _searchable(terms: Sequence[Term]) -> Sequence[Term]:
    """Return the terms of a search; raise if one looks into what is sealed."""
    for term in terms:
        if term.field in HIDDEN and possible_id(term) is None:
            name = f"args.{'.'.join(term.path)}" if term.path else term.field
            raise UsageError(
                f"{name}: this installation is encrypted, so no search can look into arguments, errors and texts. Search by type, "
                "state, tenant:, ref:, tag:, key: or code:"
            )
    return terms
