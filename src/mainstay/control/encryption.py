"""The rotation of encryption keys: seals every value with the first key, a few at a time. What is sealed so already is left alone.

It may be stopped and started again at any time; it may run while workers work.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..core.errors import UsageError
from ..core.export import PARTS, Rewrite
from ..core.keyring import MARK, VARIABLE, Unreadable
from ..stores.encrypted import SETTING, EncryptedStore
from ..stores.sealing import NOTE, SEALED_KINDS, payload_places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..core.export import DeliveryRecord
    from ..core.job import Rule

CHUNK = 100  # rows per read
JOB, ATTEMPT, LOG = (
    ("payload", "reason", "result", "children", "checkpoint", "review", "details"),
    ("error", "traceback"),
    ("message", "fields"),
)
TEXTS = {"jobs": JOB, "attempts": ATTEMPT, "logs": LOG}


def sealing(store: Any) -> EncryptedStore:
    """Return the encrypted store of an application; raise if there are no keys here."""
    if not isinstance(store, EncryptedStore):
        raise UsageError(f"there are no keys here: set {VARIABLE}", "mainstay encryption new-key")
    return store


def status(store: Any) -> dict[str, Any]:
    """Return the keys that are here, those that the installation uses, and which of these are missing here, or are others here."""
    here = list(store.ring.names) if isinstance(store, EncryptedStore) else []
    used: dict[str, str] = json.loads(store.setting(SETTING) or "{}")
    return {
        "keys": here,
        "seals": here[0] if here else None,
        "used": list(used),
        "missing": [name for name in used if name not in here],
        "wrong": [name for name, text in used.items() if name in here and not store.opens(name, text)],
    }


class Rotation:
    """Seals what another key has sealed, or none. `counts` says what became of the values."""

    def __init__(self, store: EncryptedStore) -> None:
        self._store, self._ring, self.counts = store, store.ring, Counter[str]()

    def run(self, report: Callable[[int], None]) -> Counter[str]:
        """Rotate everything; at the end, the installation uses the first key only, unless a value could not be read."""
        self._store.check()
        for part in TEXTS:
            for rows in self._rows(part):
                self._rewrite(part, rows)
                report(self.counts.total())
        for rule in self._store.inner.rules(SEALED_KINDS):
            self._rule(rule)
        for rows in self._rows("deliveries"):
            for row in rows:
                self._delivery(row)
        if not self.counts["unreadable"]:
            first = self._ring.first
            used = json.loads(self._store.inner.setting(SETTING) or "{}")
            self._store.inner.set_setting(SETTING, json.dumps({first: used[first]}))
        return self.counts

    def _rows(self, part: str) -> Iterator[list[Any]]:
        after: str | None = None
        while True:
            batch = self._store.inner.export_rows(part, after, CHUNK)
            yield [PARTS[part](*row) for row in batch.rows]
            after = batch.after
            if after is None:
                return

    def _rewrite(self, part: str, rows: list[Any]) -> None:
        of_job = attrgetter("id" if part == "jobs" else "job")
        for job, some in groupby(rows, key=of_job):
            texts = [each for row in some for each in self._texts(part, row, job)]
            if texts:
                self._store.inner.rewrite(job, texts)

    def _texts(self, part: str, row: Any, job: str) -> Iterator[Rewrite]:
        """Yield the texts of a row that have to change."""
        token, n = (None if part == "jobs" else row.token), (row.n if part == "logs" else None)
        for column in TEXTS[part]:
            was = getattr(row, column)
            now = None if was is None else self._again(column, was, job, getattr(row, "type", ""))
            if was is not None and now is not None and now != was:
                self.counts["sealed"] += 1
                yield Rewrite(column, was, now, token, n)

    def _again(self, column: str, text: str, job: str, type: str) -> str:
        """Return a text sealed with the first key; as it is if it cannot be read, which is counted."""
        try:
            if column == "review":
                found = json.loads(text)
                return _dumps(found | {"question": self._sealed(found["question"], f"question {job}", "question")})
            if column == "children":
                drafts = json.loads(text)
                return _dumps(
                    [
                        each | {"payload": self._sealed(each["payload"], *payload_places(each["id"], each["type"]))}
                        for each in drafts
                    ]
                )
            if column in ("fields", "details"):
                found = json.loads(text)
                return json.dumps({MARK: self._sealed(found.get(MARK, text), "fields")})
            places = payload_places(job, type) if column == "payload" else (f"{column} {job}", column, NOTE)
            return self._sealed(text, *(reversed(places) if column in ("message", "checkpoint") else places))
        except (Unreadable, ValueError, KeyError):
            self.counts["unreadable"] += 1
            return text

    def _sealed(self, text: str, *places: str) -> str:
        if text.startswith(f"{MARK}{self._ring.first}:"):
            return text
        for place in places if text.startswith(MARK) else ():
            try:
                return self._ring.seal(self._ring.open(text, place), place)
            except Unreadable as error:
                if error.missing:
                    raise
        if text.startswith(MARK):
            raise Unreadable("damaged", "", missing=False)
        return self._ring.seal(text, places[0])

    def _rule(self, rule: Rule) -> None:
        """Seal what a rule has sealed with another key, or not at all."""
        sealer = self._store.sealer
        opened = sealer.value(rule.kind, rule.value, opened=True)
        made = sealer.value(rule.kind, opened)
        changed = set(_texts(rule.value)) - set(_texts(made))  # sealing never gives the same text twice
        old = [text for text in changed if not text.startswith(f"{MARK}{self._ring.first}:")]
        if any(text.startswith(MARK) for text in _texts(opened)):
            self.counts["unreadable"] += 1
        elif old:
            self._store.inner.set_rule(rule._replace(value=made, actor=""), was=(rule,))
            self.counts["sealed"] += len(old)

    def _delivery(self, row: DeliveryRecord) -> None:
        error, answer = (
            text and self._again(name, text, row.job, "")
            for name, text in (("error", row.error), ("answer", row.answer))
        )
        again = row._replace(error=error, answer=answer)
        if again != row:
            self._store.inner.record_delivery(again, row.at)
            self.counts["sealed"] += 1


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
