"""Files that are not what they should be: damaged, newer, gone, on the wrong file system, oddly named."""

import os
import random
import shutil
import sqlite3
import time
from contextlib import closing
from urllib.parse import quote

import pytest

from mainstay import Mainstay, MainstayError
from mainstay.core.errors import ConfigError, SchemaMismatch, StoreCorrupt, StoreError, StoreUnavailable
from mainstay.stores.sqlite import errors
from tests.contract.building import worker
from tests.hostile.conftest import at_work, ended, finished
from tests.waiting import eventually


@pytest.fixture
def work(app):
    @app.job(retry=1)
    def work(n=0):
        return n

    return work


def every_verb(app):
    """Try everything that touches the file; answers what came of each: None, or one of our errors."""
    now = app.clock.now()
    verbs = {
        "enqueue": lambda: app.enqueue("work", {"n": 1}, tags=["t"], key=str(now)), "bulk": lambda: app.enqueue_many(
            [app._draft("work", {"n": n}, {}) for n in range(20)]),
        "find": lambda: app.store.find("", 50), "list": app.list, "search": lambda: app.list("error:x state:dead"),
        "counts": lambda: app.store.counts(1_000), "workers": app.store.workers, "types": app.store.types,
        "ended": lambda: app.store.ended(0, 100), "totals": app.store.totals, "orphans": lambda: app.store.orphans(now, 1, 100),
        "prune": lambda: app.store.prune(now + 10**12, 100), "set_setting": lambda: app.store.set_setting("x", "y"),
        "facts": app.store.diagnostics, "actions": app.actions, "cancel": lambda: [app.cancel(each.id) for each in app.list()],
        "logs": lambda: [app.logs(each.id) for each in app.list()],
        "attempts": lambda: [app.attempts(each.id) for each in app.list()],
    }  # fmt: skip
    return {name: outcome(verb) for name, verb in verbs.items()}


def beside(path):
    """SQLite's log and its index of that."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def outcome(verb):
    try:
        verb()
    except MainstayError as error:
        return error
    return None


# damaged ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A file with jobs in all states, closed."""
    path = tmp_path_factory.mktemp("sound") / "jobs.db"
    with closing(Mainstay(f"sqlite:///{path}")) as app:

        @app.job(retry=1)
        def work(n):
            return 1 // (n % 3) if n else "x" * 5_000

        with at_work(app):
            handles = [work.options(tags=["a", "b"], tenant="t").enqueue(n) for n in range(60)]
            for handle in handles:
                ended(app, handle)
        app.cancel(app.enqueue("later", {}, delay="1h").id)
        for n in range(50):
            app.enqueue("later", {"n": n}, delay="1h", key=str(n))
    return path


@pytest.mark.parametrize("seed", range(25))
def test_b59_a_file_with_flipped_bytes_gives_errors_of_ours_or_answers(sound, path, seed):
    chance = random.Random(seed)
    data = bytearray(sound.read_bytes())
    for _ in range(chance.choice([1, 10, 200, 3_000])):
        data[chance.randrange(100 if seed % 5 == 0 else 0, len(data))] = chance.randrange(256)
    path.write_bytes(data)
    with closing(Mainstay(f"sqlite:///{path}")) as app:
        every_verb(app)


@pytest.mark.parametrize("size", [50, 99, 512, 4_096, 10_000, 0.5, 0.95])
def test_b59_a_file_that_was_cut_off_gives_errors_of_ours(sound, path, size):
    data = sound.read_bytes()
    path.write_bytes(data[: size if isinstance(size, int) else int(len(data) * size)])
    with closing(Mainstay(f"sqlite:///{path}")) as app:
        failed = [error for error in every_verb(app).values() if error is not None]
    assert all(isinstance(error, StoreError) for error in failed)
    assert size == 0.95 or any(
        isinstance(error, StoreCorrupt) for error in failed
    )  # it may miss nothing that was asked


@pytest.mark.parametrize(
    "content", [b"hello, world\n" * 500, b"\0" * 8_192, bytes(range(256)) * 64], ids=["text", "zeros", "noise"]
)
def test_b59_what_is_no_database_is_named_as_such_and_left_alone(path, content):
    path.write_bytes(content)
    with closing(Mainstay(f"sqlite:///{path}")) as app:
        app.job(work_of_nobody)
        with pytest.raises(StoreCorrupt, match=r"not a .*database"):
            app.enqueue("work", {})
        with pytest.raises(StoreCorrupt):
            app.worker().start()
    assert path.read_bytes() == content


GARBAGE = {"noise": b"garbage " * 5_000, "zeros": bytes(40_000)}


@pytest.fixture
def overwritten(path):
    """Return a function that overwrites the file of an application in place; one job is in the file, and one in the log beside it."""

    def overwritten(app, content):
        app.enqueue("work", {"n": 1})
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        app.enqueue("work", {"n": 2})
        path.write_bytes(content)

    return overwritten


@pytest.mark.parametrize("content", GARBAGE.values(), ids=GARBAGE)
def test_b59_a_file_that_is_overwritten_beside_its_log_is_never_a_store_without_jobs(path, overwritten, content):
    with closing(Mainstay(f"sqlite:///{path}")) as app:
        overwritten(app, content)
        with closing(Mainstay(f"sqlite:///{path}")) as fresh:
            with pytest.raises(StoreCorrupt, match=r"malformed|not a database"):
                fresh.list()
            (store,) = fresh.health().components
            assert (store.name, store.status) == ("store", "unhealthy")


def test_b59_a_file_that_is_emptied_takes_no_jobs_that_would_be_lost(path, overwritten):
    """SQLite would write them to a log that another program has removed: it removes that of an empty file."""
    with closing(Mainstay(f"sqlite:///{path}")) as app:
        overwritten(app, b"")
        for verb in (lambda: app.enqueue("work"), app.list):
            with pytest.raises(StoreError, match=r"emptied while it was open|no mainstay schema"):
                verb()


@pytest.mark.parametrize("content", GARBAGE.values(), ids=GARBAGE)
def test_b59_what_is_in_the_log_is_found_whatever_is_in_the_file(path, content):
    with closing(Mainstay(f"sqlite:///{path}")) as app:
        ids = [app.enqueue("work", {"n": n}).id for n in range(3)]
        path.write_bytes(content)
        with closing(Mainstay(f"sqlite:///{path}")) as fresh:
            assert sorted(job.id for job in fresh.list()) == sorted(ids)


def work_of_nobody():
    pass


def test_b59_a_worker_whose_file_is_damaged_under_it_can_be_stopped(app, work, path):
    with at_work(app) as busy:
        assert work.enqueue(1).result(timeout=20) == 1
        with path.open("r+b") as file:  # not as SQLite would: that is the point
            file.write(os.urandom(path.stat().st_size))
        for each in beside(path):
            with each.open("r+b") as file:
                file.write(os.urandom(each.stat().st_size))
        eventually(lambda: busy.store_errors, "the worker to notice")
        assert isinstance(outcome(lambda: [work.enqueue(n) for n in range(50)]), StoreError)
        begun = time.monotonic()
        busy.stop(grace=0)
        assert time.monotonic() - begun < 30


LEAVES_A_LOG = """
import os, sys
from mainstay import Mainstay
app = Mainstay(sys.argv[1])
for n in range(50):
    app.enqueue("work", {"n": n})
os._exit(0)
"""


def test_a_log_that_is_missing_gives_errors_of_ours_or_what_was_there_before(app, work, program, path):
    """What was only in the log is gone with it; nobody can tell. But it must not hang or break."""
    finished(program(LEAVES_A_LOG, app.store.url))
    beside(path)[0].unlink()
    assert all(error is None or isinstance(error, MainstayError) for error in every_verb(app).values())


def test_a_log_that_was_left_behind_is_read(app, work, program, path):
    finished(program(LEAVES_A_LOG, app.store.url))
    assert beside(path)[0].stat().st_size > 0
    assert len(app.store.find("", 99)) == 50


# another version --------------------------------------------------------------------------------------------------
def test_b68_a_schema_that_is_too_new_is_refused_before_anything_is_written(app, work, path):
    app.enqueue("work", {})
    app.close()
    with closing(sqlite3.connect(path)) as newer, newer:
        newer.execute("UPDATE mainstay_schema SET version = 99, readable_from = 99")
    before = path.read_bytes()
    for verb, error in every_verb(app).items():
        assert isinstance(error, SchemaMismatch), verb
        assert "99" in str(error)
        assert "pgrade mainstay" in str(error)
    with pytest.raises(SchemaMismatch):
        app.worker().start()
    app.close()
    assert path.read_bytes() == before


def test_a_worker_that_cannot_join_leaves_no_life_sign(app, path):
    app.enqueue("work", {})
    app.close()
    with closing(sqlite3.connect(path)) as newer, newer:
        newer.execute("UPDATE mainstay_schema SET version = 99, readable_from = 99")
    with pytest.raises(SchemaMismatch):
        app.store.register(worker("w", app.clock.now()))
    assert list(path.with_name("jobs.db-mainstay").iterdir()) == []


def test_b68_a_schema_that_lost_its_version_is_refused(app, path):
    app.enqueue("work", {})
    app.close()
    with closing(sqlite3.connect(path)) as broken, broken:
        broken.execute("DELETE FROM mainstay_schema")
    with pytest.raises(SchemaMismatch, match="backup"):
        app.enqueue("work", {})


def test_a_users_own_database_gets_our_tables_beside_its_own(app, path):
    with closing(sqlite3.connect(path)) as own, own:
        own.execute("PRAGMA user_version = 42")
        own.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, type TEXT)")
        own.execute("INSERT INTO job VALUES (1, 'mine')")
    with pytest.raises(SchemaMismatch, match="no mainstay schema yet"):
        app.store.find("", 1)
    app.enqueue("work", {})
    app.close()
    with closing(sqlite3.connect(path)) as own:
        assert own.execute("SELECT * FROM job").fetchall() == [(1, "mine")]
        assert own.execute("PRAGMA user_version").fetchone() == (42,)


# gone -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["removed", "replaced", "removed with all that lies beside it"])
def test_a_file_that_goes_while_a_worker_runs_is_missed_and_work_goes_on_with_the_new_one(app, work, path, how):
    """Nothing is accepted into a file that nobody will ever find again."""
    with at_work(app, lease="1s") as busy:
        assert work.enqueue(1).result(timeout=20) == 1
        take_away(path, how)
        first = outcome(lambda: work.enqueue(2))  # unless the worker was told before
        assert first is None or (isinstance(first, StoreUnavailable) and "while it was open" in str(first))
        eventually(lambda: busy.store_errors or first, "someone to be told")
        handle = eventually(lambda: accepted(work, 3), "a job to be accepted again")
        assert handle.result(timeout=30) == 3
    with closing(sqlite3.connect(path)) as check:
        assert check.execute("SELECT state FROM mainstay_job WHERE id = ?", (handle.id,)).fetchone() == ("completed",)


def take_away(path, how):
    if how == "replaced":
        with closing(Mainstay(f"sqlite:///{path}.new")) as other:
            other.store.types()
        for each in beside(path):
            each.unlink()
        path.with_name("jobs.db.new").replace(path)
        return
    for each in (path, *beside(path)):
        each.unlink()
    if how != "removed":
        shutil.rmtree(f"{path}-mainstay")


def accepted(work, n):
    try:
        return work.enqueue(n)
    except StoreUnavailable:
        return None


def test_a_folder_that_goes_is_missed(app, work, tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    with closing(Mainstay(f"sqlite:///{folder / 'jobs.db'}")) as inner:
        inner.enqueue("work", {})
        shutil.rmtree(folder)
        with pytest.raises(StoreUnavailable, match="while it was open"):
            inner.enqueue("work", {})
        with pytest.raises(StoreUnavailable, match="does not exist"):
            inner.enqueue("work", {})
        folder.mkdir()
        assert inner.enqueue("work", {}).created


# where it lies ----------------------------------------------------------------------------------------------------
def mountinfo(folder, kind, point="/", escaped=None):
    """What Linux would say if this folder were on a file system of that kind."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    lines = [f"21 1 {number} / / rw,relatime shared:1 - ext4 /dev/sda1 rw"]
    lines.append(f"99 21 {number} / {escaped or point} rw,relatime shared:2 - {kind} server:/export rw")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "fuse.sshfs", "fuseblk"])
def test_b58_network_file_systems_are_refused_by_name(tmp_path, kind):
    text = mountinfo(tmp_path, kind, str(tmp_path))
    with pytest.raises(ConfigError, match=kind.replace(".", r"\.")) as refused:
        errors.check_path(str(tmp_path / "jobs.db"), True, text)
    assert "local disk" in str(refused.value)


def test_b58_a_mount_point_with_spaces_is_found_all_the_same(tmp_path):
    folder = tmp_path / "my share\\new"
    folder.mkdir()
    escaped = str(folder).replace("\\", "\\134").replace(" ", "\\040")
    with pytest.raises(ConfigError, match="nfs4"):
        errors.check_path(str(folder / "jobs.db"), True, mountinfo(folder, "nfs4", escaped=escaped))


def test_b58_a_link_to_a_network_file_system_is_followed(tmp_path):
    share = tmp_path / "share"
    share.mkdir()
    (tmp_path / "jobs.db").symlink_to(share / "jobs.db")
    with pytest.raises(ConfigError, match="nfs"):
        errors.check_path(str(tmp_path / "jobs.db"), True, mountinfo(share, "nfs", str(share)))


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "overlay", "tmpfs", "zfs"])
def test_local_file_systems_are_welcome(tmp_path, kind):
    errors.check_path(str(tmp_path / "jobs.db"), True, mountinfo(tmp_path, kind, str(tmp_path)))
    errors.check_path(str(tmp_path / "jobs.db"), True, "")
    (tmp_path / "inner").mkdir()
    errors.check_path(str(tmp_path / "jobs.db"), True, mountinfo(tmp_path, "nfs", str(tmp_path / "inner")))


@pytest.mark.parametrize(
    "name",
    ["with space.db", "ünï→codé 🦆.db", "100%.db", "a%20b.db", "what?.db", "a#b.db", "a&b=c;d.db", "it's \"q\".db", "-dash.db", "~tilde.db", "new\nline.db"],
)  # fmt: skip
def test_odd_names_work_when_they_are_quoted(tmp_path, name):
    path = tmp_path / name
    with closing(Mainstay(f"sqlite:///{quote(str(path))}")) as app:
        app.job(work_of_nobody)
        with at_work(app):
            assert app.enqueue("work_of_nobody", {}).result(timeout=20) is None
    assert path.exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, f"{name}-mainstay"])


def test_a_path_longer_than_a_sockets_may_be_rings_all_the_same(tmp_path):
    folder = tmp_path
    while len(str(folder)) < 250:
        folder /= "a-rather-long-name-for-a-folder"
    folder.mkdir(parents=True)
    with closing(Mainstay(f"sqlite:///{folder / 'jobs.db'}")) as app:
        bell = app.store.notifier("far")
        app.enqueue("work", {})
        begun = time.monotonic()
        assert bell.wait(5_000) == "jobs"
        assert time.monotonic() - begun < 4
        bell.close()
        app.job(work_of_nobody)
        with at_work(app):
            assert app.enqueue("work_of_nobody", {}).result(timeout=20) is None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("{}/" + "n" * 300 + ".db", StoreError), ("{}/" + "n" * 251 + ".db", StoreError), ("{}/" + "d/" * 3_000 + "x.db", StoreError),
        ("{}/missing/jobs.db", StoreUnavailable), ("{}/file/jobs.db", StoreUnavailable), ("{}", ConfigError),
        ("{}/a%00b.db", ConfigError), ("{}/a\ud800.db", ConfigError), ("/dev/null", StoreError),
    ],
    ids=["long name", "name too long for its log", "long path", "no folder", "a file as folder", "a folder", "NUL", "surrogate", "device"],
)  # fmt: skip
def test_paths_that_cannot_be_are_refused_in_words(tmp_path, path, kind):
    (tmp_path / "file").touch()
    with pytest.raises(kind) as refused, closing(Mainstay("sqlite:///" + path.format(tmp_path))) as app:
        app.enqueue("work", {})
    assert len(str(refused.value)) > 20
