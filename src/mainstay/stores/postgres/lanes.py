"""The lanes (queue × type) that a worker may claim from, as the statements get them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .arrays import Packed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Wants = Mapping[str, Sequence[str]]
    Lane = tuple[str, str]  # queue, type

FEW = 64  # lanes that a claim reads all, from its cursors; of more, the server first finds those in which jobs wait


def few(wants: Wants) -> dict[Lane, int] | None:
    """Return the lanes with the places of their queues in the order of claims, or None if there are many."""
    if sum(map(len, wants.values())) > FEW:
        return None
    return {(queue, type): place for place, (queue, types) in enumerate(wants.items()) for type in types}


class ManyLanes:
    """What is bound for workers with many lanes. Kept for the last mapping: to make it of 90,000 lanes takes a millisecond."""

    def __init__(self) -> None:
        self._last: tuple[Wants, dict[str, Packed]] | None = None

    def columns(self, wants: Wants) -> dict[str, Packed]:
        """Return the queues, all their types, and which slice of those each queue wants. `wants` must not change any more."""
        last = self._last
        if last is None or last[0] is not wants:
            last = self._last = wants, {name: Packed(column) for name, column in _sliced(wants).items()}
        return last[1]


def _sliced(wants: Wants) -> dict[str, list[Any]]:
    slices: dict[tuple[str, ...], tuple[int, int]] = {}
    types: list[str] = []
    for wanted in map(tuple, wants.values()):
        if wanted not in slices:
            slices[wanted] = len(types) + 1, len(types) + len(wanted)
            types += wanted
    bounds = [slices[tuple(wanted)] if len(slices) > 1 else (None, None) for wanted in wants.values()]
    firsts, lasts = map(
        list, zip(*bounds, strict=True)
    )  # None: all, as most workers want the same types of every queue
    return {"queues": list(wants), "types": types, "firsts": firsts, "lasts": lasts}
