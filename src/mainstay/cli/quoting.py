"""Commands to type next, quoted so that a shell reads them as they are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import words as core

if TYPE_CHECKING:
    from .options import Target


def typed(*words: str, target: Target | None = None) -> str:
    """Return a command of mainstay to type, for the same store if the command line names it."""
    return core.typed(*words, *(target.words() if target else []))
