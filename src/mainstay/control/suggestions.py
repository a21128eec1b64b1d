"""What a person may type next in a search: qualifiers, then the values that this installation has. Bounded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ..query import GROUPS, READERS, completed, last_word
from .rules import known_queues

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ..app import Mainstay
    from ..core.job import Job

LOOKED = 200  # of the newest jobs, for tags, tenants and the names of arguments
MOST = 30  # suggestions
DEEPEST = 3  # levels of arguments


class Suggestion(NamedTuple):
    """The last word of a search as it may go on, and what that means."""

    text: str
    about: str


class _Values:
    """The values that a search can name. A caller who sees some jobs only (`search`) gets those of these jobs."""

    def __init__(self, app: Mainstay, search: str) -> None:
        self._app, self._search = app, search
        self.about: dict[str, str] = {}  # descriptions of types

    def jobs(self) -> list[Job]:
        return self._app.reader.get_many(self._app.search(self._search, LOOKED).ids)

    def of(self, name: str, _start: str = "") -> list[str]:
        """Return the values of a qualifier, sorted."""
        stored = _STORED.get(name)
        if stored is not None and not self._search:
            return sorted(set(stored(self._app, self.about)))
        if name == "tag":
            return sorted({tag for job in self.jobs() for tag in job.tags})
        field = name if name in ("type", "queue", "worker", "tenant", "schedule", "code") else ""
        return sorted({value for job in self.jobs() if field and (value := getattr(job, field))})


def _types(app: Mainstay, about: dict[str, str]) -> Iterable[str]:
    for info in app.store.types():
        about[info.name] = info.description or ""
        yield info.name


_STORED: Mapping[str, Callable[[Mainstay, dict[str, str]], Iterable[str]]] = {
    "type": _types,
    "queue": lambda app, _: known_queues(app),
    "worker": lambda app, _: [worker.id for worker in app.store.workers()],
    "schedule": lambda app, _: [rule.name for rule in app.store.rules(["schedule"])],
}


def suggestions(app: Mainstay, text: str, search: str = "") -> list[Suggestion]:
    """Return how the last word of a text may go on. `search` finds the jobs that the caller sees; "": all."""
    word, values = last_word(text), _Values(app, search)
    minus = "-" * word.startswith("-")
    if word[len(minus) :].startswith("args.") and ":" not in word:
        paths = sorted({path for job in values.jobs() for path in _paths(job.payload)})
        found = [f"{minus}args.{path}:" for path in paths]
        return [Suggestion(each, "argument") for each in found if each.startswith(word)][:MOST]
    return [Suggestion(each, _about(each, values.about)) for each in completed(word, values.of)[:MOST]]


def _about(term: str, types: Mapping[str, str]) -> str:
    name, _, value = term.removeprefix("-").partition(":")
    if not value:
        return READERS[name][1]
    if name == "state":
        return ", ".join(GROUPS.get(value, ()))
    return types.get(value.rpartition(",")[2], "") if name == "type" else ""


def _paths(payload: str) -> Iterator[str]:
    try:
        yield from _names(json.loads(payload), "", DEEPEST)
    except ValueError:  # a damaged payload has no names
        return


def _names(value: Any, before: str, deepest: int) -> Iterator[str]:
    if not isinstance(value, dict) or not deepest:
        return
    for name, inner in value.items():
        if name and not set(name) & set('." :,\t\n<>='):  # others cannot be written in a search
            yield before + name
            yield from _names(inner, f"{before}{name}.", deepest - 1)
