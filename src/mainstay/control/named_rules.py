"""Rules with a name: what subscriptions, receivers of webhooks and webhook endpoints share (find, set, remove, new secret)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..core.clock import span
from ..core.errors import NotFound
from ..core.suggest import did_you_mean
from ..core.webhooks import checked_id
from .rules import edit
from .stored_secrets import StoredSecrets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..app import Mainstay
    from ..core.clock import Duration
    from ..core.job import Rule
    from .records import Change
    from .rules import Edit


class NamedRules:
    """The rules of one kind, each with its secrets if the kind has a `_secret_kind`."""

    _kind: ClassVar[str]
    _secret_kind: ClassVar[str] = ""
    _word: ClassVar[str]  # what people call one of them
    _verbs: ClassVar[str]  # where the application has their verbs

    def __init__(self, app: Mainstay) -> None:
        self._app, self._secrets = app, StoredSecrets(app, self._secret_kind, f"the {self._word}")

    def _shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a rule as people read them."""
        raise NotImplementedError

    def _rules(self) -> Sequence[Rule]:
        """Return every rule of the kind, by name."""
        return self._app.store.rules([self._kind])

    def _rule(self, name: str) -> Rule:
        """Return the row of a rule; raise `NotFound` if there is none of that name."""
        found = self._app.store.rules([self._kind], checked_id(name))
        if not found:
            near = did_you_mean(name, [rule.name for rule in self._rules()])
            raise NotFound(f"no {self._word} is called {name!r}{near}; {self._verbs}.list() lists them")
        return found[0]

    def _edit(self, name: str, edited: Edit, reason: str, actor: str, dry_run: bool) -> Change:
        return edit(self._app, self._kind, name, edited, reason, actor, dry_run, self._shown)

    def _set(self, name: str, values: Mapping[str, Any], reason: str, actor: str, dry_run: bool) -> Change:
        """Set values of a rule that is there."""
        self._rule(name)

        def changed(before: Mapping[str, Any]) -> dict[str, Any]:
            if not before:
                raise NotFound(f"the {self._word} {name} was removed meanwhile")
            return {**before, **values}

        return self._edit(name, changed, reason, actor, dry_run)

    def _remove(self, name: str, reason: str, actor: str, dry_run: bool) -> Change:
        """Remove a rule and its secrets."""
        self._rule(name)
        was = self._secrets.rule(name) if self._secret_kind else None
        made = self._edit(name, lambda _: {}, reason, actor, dry_run)
        if self._secret_kind and not dry_run:
            self._secrets.remove(name, was)
        return made

    def _rotate(self, name: str, secret: str, keep: Duration, reason: str, actor: str, dry_run: bool) -> Change:
        """Give a rule a new secret; the one before holds for `keep`."""
        now, was = self._app.clock.now(), self._secrets.rule(name)
        until = now + span("keep", keep)
        changed = self._set(name, {"rotated_at": now}, reason, actor, dry_run)
        if not dry_run:
            self._secrets.rotate(name, secret, until, was)
        return changed
