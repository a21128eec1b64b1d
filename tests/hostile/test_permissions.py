"""Files and folders that may not be written or entered: said in words, at once, and nothing is changed."""

import json
import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from mainstay import Mainstay
from tests.hostile.conftest import finished

# Run as a user who owns nothing. Whatever that user could not read of Python or mainstay is loaded before.
UNPRIVILEGED = """
import json, os, sys
from mainstay import Mainstay, MainstayError
warm_up, url, job = sys.argv[1:]

def attempts(url, job):
    app = Mainstay(url)
    @app.job
    def work(): pass
    verbs = {
        "enqueue": work.enqueue, "get": lambda: app.get(job), "cancel": lambda: app.cancel(job),
        "list": app.list, "counts": lambda: app.store.counts(9), "worker": lambda: app.worker().start().stop(),
        "delete": lambda: app.delete(job),
    }
    said = {}
    for name, verb in verbs.items():
        try:
            verb()
            said[name] = ""
        except MainstayError as error:
            said[name] = f"{type(error).__name__}: {error}"
    app.close()
    return said

attempts(warm_up, "01NONE")
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(json.dumps(attempts(url, job)))
"""


@pytest.fixture
def folder():
    """A folder that everybody can reach: the one of the test is closed to other users."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    if os.geteuid() == 0 and not all(each.stat().st_mode & stat.S_IXOTH for each in folder.parents):
        pytest.skip(f"root drops its rights for this test, and other users cannot reach {folder}")
    yield folder
    for each in (folder, *folder.rglob("*")):
        each.chmod(0o777)
    shutil.rmtree(folder)


@pytest.fixture
def tried(program, folder, tmp_path):
    """What each verb said to a user without rights, on a file with one job in it, after `close(file)`."""

    def run(close):
        file = folder / "jobs.db"
        app = Mainstay(f"sqlite:///{file}")
        job = app.enqueue("work", {}).id
        app.close()
        before = file.read_bytes()
        close(file)
        said = finished(program(UNPRIVILEGED, f"sqlite:///{tmp_path / 'warm.db'}", f"sqlite:///{file}", job))
        folder.chmod(0o777)
        file.chmod(0o666)
        assert file.read_bytes() == before
        return json.loads(said)

    return run


READING, WRITING = ("get", "list", "counts"), ("enqueue", "cancel", "worker", "delete")


def test_what_everyone_may_write_works_for_everyone(program, folder, tmp_path):
    """The rights are what the tests below are about: with them, nothing is refused."""
    file = folder / "jobs.db"
    app = Mainstay(f"sqlite:///{file}")
    job = app.enqueue("work", {}).id
    app.close()
    file.chmod(0o666)
    said = finished(program(UNPRIVILEGED, f"sqlite:///{tmp_path / 'warm.db'}", f"sqlite:///{file}", job))
    assert set(json.loads(said).values()) == {""}


def test_a_file_that_may_not_be_written(tried):
    said = tried(lambda file: file.chmod(0o444))
    for verb in WRITING:
        assert said[verb].startswith("StoreReadOnly"), said
        assert "owner and mode" in said[verb]
    for verb in READING:
        assert said[verb] == "" or said[verb].startswith(("StoreReadOnly", "StoreUnavailable")), said


def test_a_folder_that_may_not_be_written(tried):
    def close(file):
        file.chmod(0o444)
        file.parent.chmod(0o555)

    said = tried(close)
    for verb in (*WRITING, *READING):
        assert said[verb].startswith(("StoreReadOnly", "StoreUnavailable")) or (verb in READING and not said[verb]), (
            said
        )
        assert verb in READING or any(word in said[verb] for word in ("written", "owner and mode")), said


def test_a_folder_in_which_a_worker_may_not_leave_its_life_sign(tried):
    """The file itself may be written, and its log is there already; but nothing new can be made beside it."""

    def close(file):
        file.chmod(0o666)
        file.parent.chmod(0o555)

    said = tried(close)
    assert said["worker"].startswith(("StoreReadOnly", "StoreUnavailable")), said


def test_a_folder_that_may_not_be_entered(tried):
    said = tried(lambda file: file.parent.chmod(0o600))
    for verb in (*WRITING, *READING):
        assert said[verb].startswith("StoreUnavailable"), said
        assert "permission denied" in said[verb].lower()


def test_a_file_that_may_not_be_read(tried):
    said = tried(lambda file: file.chmod(0o000))
    for verb in (*WRITING, *READING):
        assert said[verb].startswith(("StoreReadOnly", "StoreUnavailable")), said
