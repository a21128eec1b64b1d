"""`demo`: the whole story, told by a real store and real processes."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from mainstay import Mainstay
from tests.waiting import eventually


@pytest.mark.slow
def test_the_demo_tells_its_story_and_leaves_a_file_to_look_at(shell, tmp_path):
    result = shell("demo", "--file", "demo.db", "--seconds", "4", "--jobs", "14")
    assert (result.code, result.err) == (0, "")
    for part in (
        "14 jobs accepted", "its key is taken", "charge_card failed: TimeoutError", "charge_card worked at attempt",
        "broken-upload.jpg is not an image", "is killed with SIGKILL while it runs import_catalog", "goes on from its checkpoint",
        "send_receipt is done, as scheduled", "What you saw", "Try next",
    ):  # fmt: skip
        assert part in result.out, result.out
    url = re.search(r"export MAINSTAY_URL=(\S+)", result.out)[1]
    assert url == f"sqlite:///{tmp_path}/demo.db"
    app = Mainstay(url)
    (victim,) = app.list("type:import_catalog")
    assert (victim.state, victim.attempt, victim.crashes) == ("completed", 2, 1)
    assert app.list("state:running") == []
    tips = [line for line in result.out.partition("Try next")[2].splitlines() if line.strip().startswith("mainstay")]
    for line in (line for line in tips[:-1] if "mainstay serve" not in line):  # test_serve serves
        assert shell(*shlex.split(line, comments=True)[1:], env={"MAINSTAY_URL": url}).code == 0, line
    last = shlex.split(tips[-1], comments=True)
    assert last[1] == "worker"
    assert app.list("state:queued"), "the job that was retried"
    with subprocess.Popen([sys.executable, "-m", *last], env={**os.environ, "MAINSTAY_URL": url}) as worker:
        eventually(lambda: not app.list("state:queued,running"), "the worker to run it", 30)
        worker.terminate()
    assert worker.returncode == 0
    app.close()


@pytest.mark.slow
def test_on_a_terminal_each_event_fits_its_line(terminal):
    result = terminal("demo", "--no-serve", "--seconds", "4", "--jobs", "8", env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.code == 0
    events = [line for line in result.out.partition("What you saw")[0].splitlines() if re.match(r" +[0-9.]+s  ", line)]
    assert len(events) > 4
    assert max(map(len, events)) <= 80
