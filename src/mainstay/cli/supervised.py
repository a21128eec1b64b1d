"""The program of each process that `mainstay worker --processes` starts: a worker with the same log as a single one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..load_app import load_app
from ..settings_file import load_settings
from ..worker.shutdown import exit_process
from ..worker.worker_process import main
from .log import WorkerLog

if TYPE_CHECKING:
    from ..app import Mainstay


def logging_app(spec: str) -> Mainstay:
    """Return the application, with a log of its events."""
    app, settings = load_app(spec), load_settings()
    WorkerLog(app, settings.log_level, settings.log_format)
    return app


if __name__ == "__main__":
    exit_process(main(sys.argv[1:], logging_app))
