"""What the story and the tests run around the application: a folder, AWS and a model on this machine, workers as processes."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.servers import aws, model
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
STAND_IN = ROOT / "tests/servers/claude"  # asks the same service as the real command, where that is not installed
APP = "examples.file_outbox.jobs:app"
PATIENCE = 60


def environment(folder, model_url=None):
    """The variables that the application reads."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("MAINSTAY_", "AWS_"))}
    kept = {name: value for name, value in os.environ.items() if name.startswith(("MAINSTAY_TEST_", "MAINSTAY_CACHE"))}
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **ours, **kept, **aws.one_for_all().environment(), "PYTHONPATH": os.pathsep.join(path), "NO_COLOR": "1",
        "MAINSTAY_URL": f"sqlite:///{folder}/outbox.db", "MAINSTAY_APP": APP, "OUTBOX_DATA": f"{folder}/data",
        "CLAUDE": shutil.which("claude") or str(STAND_IN), "ANTHROPIC_API_KEY": "local",
        "ANTHROPIC_BASE_URL": model_url or model.address(),
    }  # fmt: skip


class Workers:
    """Worker processes. Their log is kept in the folder; what is left at the end is killed."""

    def __init__(self, folder, env):
        self._folder, self._env, self._started = Path(folder), env, []

    def start(self, app=APP):
        """Start a worker, and return it when it is ready."""
        process = self.launch(app)

        def ready():
            return " is ready:" in process.log.read_text() or process.poll() is not None

        eventually(ready, f"{process.log} to say ready", PATIENCE)
        return process

    def launch(self, app=APP):
        """Start a worker without waiting for it."""
        log = self._folder / f"worker-{len(self._started)}.log"
        command = [sys.executable, "-m", "mainstay", "worker", "--app", app, "-c", "4"]
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, cwd=self._folder, env=self._env, stderr=file, preexec_fn=_end_with_its_parent,  # noqa: PLW1509  (it is one call of the kernel)
            )  # fmt: skip
        process.log = log
        self._started.append(process)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._started:
            process.kill()
            process.wait()


def _end_with_its_parent():
    """Let the kernel end a worker when the program that started it is gone, even if that was killed: on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def stop(process, number=signal.SIGTERM):
    """Stop a worker, and return its exit code."""
    process.send_signal(number)
    return process.wait(PATIENCE)
