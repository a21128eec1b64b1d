"""Texts of a job in another form that says the same: for the rotation of encryption keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import header

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.export import Rewrite
    from .store import RedisStore


def rewrite(store: RedisStore, job_id: str, texts: Sequence[Rewrite]) -> None:
    """Replace texts that are still what they were."""
    store.server.run("rewrite", [job_id, header.dumps([list(each) for each in texts])])
