"""mainstay with handlers that report: what `BENCH_SAYS` says of the type `noop`.

`logs`: five log lines a job. `lines`: a hundred. `saves`: one checkpoint.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..marks import mark

if TYPE_CHECKING:
    from mainstay import Mainstay

SAYS = os.environ.get("BENCH_SAYS", "")
LINES = {"logs": 5, "lines": 100}


def add_types(app: Mainstay) -> None:
    """The type `noop`."""
    app.job(name="noop")(_saves if SAYS == "saves" else _logs)


def _logs(n: int, pad: str) -> None:
    from mainstay import ctx

    for page in range(LINES[SAYS]):
        ctx.log("sent a page", page=page)
    mark(n)


def _saves(n: int, pad: str) -> None:
    from mainstay import ctx

    ctx.save(page=n)
    mark(n)
