"""The pytest fixture, as a user's own project sees it."""

import subprocess
import sys

JOBS = """
from mainstay import Mainstay

app = Mainstay("sqlite:///jobs.db")


@app.job
def welcome(to: str) -> None:
    print("welcome", to)


def sign_up(address):
    welcome.options(delay="5m").enqueue(address)
"""
TESTS = """
import os
import jobs


def test_by_hand(mainstay):
    mainstay.use(jobs.app)
    jobs.sign_up("ada@example.com")
    mainstay.assert_enqueued(jobs.welcome, to="ada@example.com", delay="5m")
    mainstay.advance(minutes=5)
    assert mainstay.drain().completed == 1


def test_each_test_starts_empty(mainstay):
    mainstay.use(jobs.app)
    assert mainstay.jobs == []
    assert not os.path.exists("jobs.db")
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_the_fixture_is_there_once_the_package_is_installed(tmp_path):
    (tmp_path / "jobs.py").write_text(JOBS)
    (tmp_path / "test_jobs.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_a_project_may_name_its_application_once(tmp_path):
    (tmp_path / "jobs.py").write_text(JOBS)
    (tmp_path / "test_jobs.py").write_text(TESTS.replace("    mainstay.use(jobs.app)\n", ""))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmainstay_app = jobs:app\npythonpath = .\n")
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_loads_nothing_until_it_is_used(tmp_path):
    (tmp_path / "test_light.py").write_text(
        "import sys\n\n\ndef test_light():\n    heavy = {'mainstay.app', 'mainstay.worker', 'msgspec', 'sqlite3'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
