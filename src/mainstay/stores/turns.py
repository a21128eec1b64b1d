"""When a process examines the lines of slots that its jobs gave back (docs/decisions/0031)."""

from __future__ import annotations

from typing import Protocol

TURN = 20  # milliseconds between two examinations while claims are full
FULL = 8  # jobs: a claim for fewer always examines


class Examining(Protocol):
    """A store whose claims examine lines."""

    examined_at: int


class Foreseeing(Examining, Protocol):
    """One whose claims decide beforehand whether they examine lines, by what the last one got."""

    full: bool


def may_postpone(store: Examining, limit: int, now: int) -> bool:
    """Return whether a claim of so many jobs may leave lines to a later one, if it gets all of them."""
    return limit >= FULL and 0 <= now - store.examined_at < TURN


def may_wait(store: Examining, claimed: int, limit: int, now: int) -> bool:
    """Return whether a claim that got so many jobs may leave lines to a later one; if not, this is the turn.

    A claim that got fewer jobs than it asked for examines at once. While claims are full, other jobs come before those in line:
    the slots are kept in the store, and one claim examines all of them together. Of five jobs of one key it reads the line once.
    """
    if claimed >= limit and may_postpone(store, limit, now):
        return True
    store.examined_at = now
    return False


def is_turn(store: Foreseeing, limit: int, now: int) -> bool:
    """Return whether a claim has to examine lines before it takes jobs; if so, this is the turn."""
    if store.full and may_postpone(store, limit, now):
        return False
    store.examined_at = now
    return True
