"""The rules of types and queues as a producer knows them: it applies them to drafts, and sends their version along."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core.errors import QueueFull
from ...core.limits import effective, follow_queue, follow_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...core.draft import Draft
    from .connect import Server


class RulesKnown:
    """The rules of all types and queues that have any, at one version (statements/parts/ruled.lua)."""

    def __init__(self, version: str, types: list[str], known: list[str], queues: list[str]) -> None:
        self.version = version
        self._types, self.queues = _effective(types), _effective(queues)
        pairs = zip(types[::2], known, strict=True)
        self._policies: dict[str, dict[str, Any]] = {name: json.loads(text)["policy"] for name, text in pairs if text}

    def followed(self, drafts: Sequence[Draft], lenient: bool = False) -> list[Draft]:
        """Return drafts as these rules want them: copies, so that a draft can follow other rules later."""
        return [self._followed(draft, lenient) for draft in drafts]

    def _followed(self, draft: Draft, lenient: bool) -> Draft:
        of_type = self._types.get(draft.type, {})
        if not of_type and draft.queue not in self.queues:
            return draft
        if lenient:
            of_type = {name: value for name, value in of_type.items() if name != "disabled"}
        copy = draft.again()
        copy.id, copy.created_at = draft.id, draft.created_at
        follow_type(copy, of_type, self._policies.get(draft.type, {}))
        follow_queue(copy, self.queues.get(copy.queue, {}))  # the type's rule may have chosen another
        return copy

    def refusal(self, drafts: Iterable[Draft], queue: str, depth: int) -> QueueFull:
        """Return the error for drafts that a full queue does not take."""
        rule = self.queues.get(queue, {})
        most, how = rule.get("max_depth", depth), rule.get("when_full", "raise")
        state, below = f"the queue {queue} is full: {depth} jobs wait, {most} may", rule.get("below", 0)
        if how == "sample":
            return QueueFull(
                f"{state}. One in {rule.get('one_in', 10)} is kept; this one was not", queue, depth, most, how
            )
        if how == "shed" and min(draft.priority for draft in drafts if draft.queue == queue) < below:
            return QueueFull(f"{state}. It sheds jobs with a priority below {below}", queue, depth, most, how)
        wait = rule.get("wait", 0) if how in ("wait", "shed") else 0
        advice = f"Enqueue later, add workers, or raise it: mainstay queues set {queue} --max-depth N"
        return QueueFull(f"{state}. {advice}", queue, depth, most, "wait" if wait else "raise", wait)


def rules_of(server: Server) -> RulesKnown:
    """Return the rules of types and queues as they are now."""
    found: list[Any] = server.run("ruled", [])
    return RulesKnown(*found[1:])


def _effective(pairs: list[str]) -> dict[str, dict[str, Any]]:
    return {name: effective(json.loads(text)["value"]) for name, text in zip(pairs[::2], pairs[1::2], strict=True)}
