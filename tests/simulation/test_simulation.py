"""The real steps on a virtual clock: in 500 seeds of crashes, pauses, lost replies and outages no job is harmed."""

import os
import subprocess
import sys

import pytest

from tests.simulation.world import simulate

SEEDS, CHUNK = 500, 25  # `python3 dev.py simulate` runs 2,000, or as many as you like


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, SEEDS, CHUNK))
def test_no_seed_shows_a_violation(start):
    for seed in range(start, start + CHUNK):
        assert simulate(seed).violations == [], f"python -m tests.simulation --replay {seed}"


def test_a_seed_has_trouble_in_it():
    history = simulate(3).history
    kinds = {(record.op, record.phase) for record in history}
    assert {op for op, _ in kinds} >= {"enqueue", "claim", "start", "end", "finish", "fault"}
    assert len(history) > 300


def test_the_same_seed_is_the_same_history_in_any_process():
    here = simulate(5).history.hash()
    assert simulate(5).history.hash() == here
    program = "from tests.simulation.world import simulate; print(simulate(5).history.hash())"
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == here


def test_the_command_prints_what_it_did_and_how_to_do_it_again():
    good = command("--seeds", "3")
    assert good.returncode == 0
    assert good.stdout.startswith("3 seeds, ")
    bad = command("--variant", "no_fence", "--seeds", "200")
    assert bad.returncode == 0, "a broken variant must be noticed"
    assert "again: python -m tests.simulation --replay" in bad.stdout


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation", *arguments], capture_output=True, text=True, check=False
    )
