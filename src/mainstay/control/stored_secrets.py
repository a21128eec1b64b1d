"""Secrets that are stored beside a rule, in a row of their own: no audit line has them, and encryption seals them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import Conflict, NotFound, UsageError
from ..core.job import Rule, RuleChanged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..flow import Flow

VARIABLE = "$"  # a secret that starts so names a variable of the environment
MOST = 5  # that hold at the same time


class StoredSecrets(NamedTuple):
    """The secrets of one kind of rules, by the name of their rule."""

    app: Flow
    kind: str
    of: str  # what has them, in words

    def rule(self, name: str) -> Rule | None:
        """Return the row with the secrets of a rule."""
        return next(iter(self.app.store.rules([self.kind], name)), None)

    def put(self, name: str, secrets: Sequence[Sequence[object]], was: Rule | None) -> None:
        """Store the secrets of a rule, each with the instant until which it holds, if they are as they were."""
        made = Rule(self.kind, name, {"secrets": [*map(list, secrets)]}, "", self.app.clock.now())
        try:
            self.app.store.set_rule(made, was=(was,))
        except RuleChanged:
            raise Conflict(f"somebody else changes the secret of {name} at this moment: repeat it") from None

    def rotate(self, name: str, secret: str, until: int, was: Rule | None) -> None:
        """Store a new secret; the one before holds until an instant."""
        now, known = self.app.clock.now(), was.value["secrets"] if was else []
        older = [[each, until] for each, _ in known[:1]] + [each for each in known[1:] if each[1] > now]
        self.put(name, [[secret, None], *older][:MOST], was)

    def remove(self, name: str, was: Rule | None) -> None:
        """Remove the secrets of a rule that is removed."""
        with suppress(RuleChanged):  # they are those of one which somebody has added meanwhile
            self.app.store.set_rule(Rule(self.kind, name, {}, "", self.app.clock.now()), remove=True, was=(was,))

    def in_force(self, name: str) -> list[str]:
        """Return the secrets of a rule that hold now, the newest first; a variable is not looked up."""
        now, found = self.app.clock.now(), self.rule(name)
        return [text for text, until in (found.value["secrets"] if found else ()) if until is None or until > now]

    def resolved(self, name: str, secret: str) -> str:
        """Return a secret, or the value of the variable that it names."""
        if not secret.startswith(VARIABLE):
            return secret
        found = os.environ.get(secret[1:])
        if not found:
            raise NotFound(
                f"the secret of {self.of} {name} is in the variable {secret[1:]}, which is not set for this process"
            )
        return found


def check_variable(secret: str) -> None:
    """Raise for a secret that names a variable which cannot be one."""
    if not secret[1:].isidentifier():
        raise UsageError("secret: a name of an environment variable has letters, digits and _: $BILLING_SECRET")


def source(rule: Rule | None) -> str:
    """Return where the newest secret comes from, in words."""
    newest = rule.value["secrets"][0][0] if rule else ""
    return newest if newest.startswith(VARIABLE) else "a stored secret" if newest else "no secret"
