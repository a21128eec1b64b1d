"""The whole story: `python3 dev.py example document_desk`. With a number after it, so many workers are killed meanwhile."""

import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from examples.conversation_hook.story import Failed, check, heading
from examples.document_desk.world import Desk, Workers, world


def main(kills=0):
    began = time.monotonic()
    print("A model and a mail server start; the first run fetches the model (93 MB)", flush=True)
    with tempfile.TemporaryDirectory(prefix="document-desk-") as name:
        folder = Path(name)
        with world(folder, f"sqlite:///{folder / 'desk.db'}") as around:
            os.environ.update(around.environment)
            with Desk() as desk:
                tell(desk, around, kills)
    print(f"\nAll of it holds; it took {time.monotonic() - began:.0f} s.")


def tell(desk, around, kills):
    from examples.document_desk import chapters, killing, operations

    first = chapters.without_workers(desk, around.services)
    with Workers(processes=1) as workers:
        chapters.decisions(desk, around, first)
        chapters.mailing(around.box)
        chapters.failing_source(around.services)
        operations.reports(f"{datetime.now(UTC):%Y-%m}", "Lena Fischer")
        operations.events(desk, os.environ["DESK_EVENTS_SECRET"])
        operations.alerts(around)
        heading("The worker is stopped with SIGTERM")
        check(workers.stop() == 0, "it finishes what runs and exits with 0")
    if kills:
        killing.kills(desk, around, kills)


if __name__ == "__main__":
    try:
        main(*map(int, sys.argv[1:]))
    except Failed as error:
        sys.exit(f"  ✗ {error}")
    except KeyboardInterrupt:
        sys.exit("\nstopped: the servers and workers have ended")
