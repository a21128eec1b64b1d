"""Where the processes of a campaign find its server: one file in the campaign's folder, written by the first that asks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILE = "address.json"


class Address:
    """`url` is what workers and producers use, `direct` the same without the faults on the way."""

    def __init__(self, engine: str, folder: Path) -> None:
        if not (folder / FILE).exists():
            write(folder, fresh(engine))
        self.url, self.direct = json.loads((folder / FILE).read_text(encoding="utf-8"))


def write(folder: Path, url: str, direct: str | None = None) -> None:
    """Tell every process where the server is."""
    (folder / FILE).write_text(json.dumps([url, direct or url]), encoding="utf-8")


def fresh(engine: str) -> str:
    """A store that nobody has used on the session's server, which ends with this process; so nothing is cleared away."""
    from tests.servers.engines import installation

    return installation(engine)
