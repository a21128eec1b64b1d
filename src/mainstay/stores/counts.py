"""Counts of several states by one statement: at one instant, so that a job that moves meanwhile is counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.job import Count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def together(statements: Mapping[str, str]) -> str:
    """Statements by state as one, its rows led by the state."""
    return " UNION ALL ".join(
        f"SELECT '{state}', counts.* FROM ({text}) AS counts"  # noqa: S608
        for state, text in statements.items()
    )


def counted(rows: Iterable[tuple[Any, ...]], cap: int) -> list[Count]:
    """The rows of such a statement; a state in which `cap` jobs were seen may have more."""
    found = list(rows)
    seen: dict[str, int] = {}
    for state, _, _, jobs, _ in found:
        seen[state] = seen.get(state, 0) + jobs
    return [Count._make((*row, seen[state] >= cap)) for state, *row in found]
