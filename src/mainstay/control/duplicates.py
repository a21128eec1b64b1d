"""Jobs that look like duplicates of each other, as an application asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import span

if TYPE_CHECKING:
    from ..core.clock import Duration
    from ..core.duplicates import Duplicates
    from ..flow import Flow

CAP = 10_000  # of the newest jobs


def duplicates(app: Flow, within: Duration) -> Duplicates:
    """Return the jobs with the same type and key, or the same type and arguments."""
    return app.store.duplicates(app.clock.now() - span("within", within), CAP)
