"""A killed program leaves no row without its job and no job without its row. 200 times and more: `-m tests.outbox.kill`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.outbox.callers import SQLITE
from tests.outbox.conftest import POSTGRES
from tests.servers.engines import ENGINES

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("MAINSTAY_TEST_KILLS", "50"))


def killed(url, *arguments):
    """What the program prints that kills, and whether all was well."""
    program = [sys.executable, "-m", "tests.outbox.kill", url, "--kills", str(KILLS), *arguments]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110 + KILLS)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["sqlite3", "sqlalchemy session on aiosqlite", "psycopg", "sqlalchemy session on asyncpg"]
)
def test_the_row_is_there_if_and_only_if_the_job_is(kind, tmp_path):
    with ENGINES["sqlite" if kind in SQLITE else POSTGRES](tmp_path) as url:
        table = "killed_" + url.partition("schema=")[2]
        code, words = killed(url, "--kind", kind, "--table", table)
        assert code == 0, words


@pytest.mark.slow
def test_a_program_without_tx_is_found_out(tmp_path):
    code, words = killed(f"sqlite:///{tmp_path / 'jobs.db'}", "--broken")
    assert code == 1
    assert "without its" in words
