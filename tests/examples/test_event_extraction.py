"""The system that extracts events, run whole while its workers are killed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = 20
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def test_every_artifact_is_extracted_exactly_once_while_workers_are_killed(tmp_path):
    """The story checks itself: nothing half written, codes kept, backoff stored, dead after five, archived."""
    with (tmp_path / "story").open("w") as output:  # no pipe: the servers of the session would keep it open
        command = [sys.executable, "-m", "examples.event_extraction", str(KILLS)]
        code = subprocess.run(command, cwd=ROOT, stdout=output, stderr=output, check=False).returncode
    told = (tmp_path / "story").read_text()
    print(told)
    assert code == 0
    assert "WRONG" not in told
    [(killed, crashed)] = re.findall(r"ok: (\d+) processes were killed, and (\d+) extractions with them", told)
    assert int(killed) >= KILLS
    assert int(crashed) > 0
    assert re.search(r"ok: all \d{2,} revisions are extracted, each exactly once", told)
    assert told.count("ok: ") >= 18
