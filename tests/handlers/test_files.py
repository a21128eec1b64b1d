"""`create_file` and `delete_file`: whole files, inside their roots, the same end wherever an attempt is killed."""

import errno
import hashlib
import os
import resource
import signal
import socket
import stat
import threading
from contextlib import suppress
from itertools import count

import pytest

from mainstay import ConfigError, JobFailed, LeaseLost, Mainstay, Permanent
from mainstay.handlers import files
from mainstay.testing import Trial

STEPS = ("open", "mkdir", "write", "fsync", "link", "rename", "unlink", "fchmod")


class Attempt(Trial):
    """An attempt at the same job as the others: what one leaves behind is found by the next."""

    def _context(self):
        context = super()._context()
        context.job = context.job._replace(id="01JQ93000000000000000000AA")
        return context


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def made(root):
    return files.register(Mainstay("sqlite:///:memory:"), roots=[root])


def create(made, *args, attempt=1, **kwargs):
    return Attempt(made.create_file, attempt=attempt).run(*args, **kwargs)


def delete(made, *args, attempt=1, checkpoint=None, **kwargs):
    return Attempt(made.delete_file, attempt=attempt, checkpoint=checkpoint).run(*args, **kwargs)


def names(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


class Overtaken(Attempt):
    """An attempt of a worker that was suspended: another attempt has the job."""

    def labels(self, job):
        raise LeaseLost


def test_an_attempt_that_was_overtaken_undoes_nothing(made, root):
    (root / "a.txt").write_text("newer")
    for job, args in (
        (made.create_file, ("a.txt", "older", True)),
        (made.create_file, ("b.txt", "older")),
        (made.delete_file, ("a.txt",)),
    ):
        with pytest.raises(LeaseLost):
            Overtaken(job).run(*args)
    assert ((root / "a.txt").read_text(), names(root)) == ("newer", ["a.txt"])


# Files ----------------------------------------------------------------------------------------------------------------


def test_a_second_registration_does_not_take_the_jobs_of_the_first(app, tmp_path):
    files.register(app, roots=[tmp_path / "a"])
    with pytest.raises(ConfigError, match="'create_file' is registered on this application already"):
        files.register(app, roots=[tmp_path / "b"])


def test_a_file_is_written_whole_and_a_second_time_left_alone(made, root):
    content = "Grüße 🙂\r\n" * 3
    expected = {
        "path": "a/b/c.txt", "sha256": hashlib.sha256(content.encode()).hexdigest(), "size": len(content.encode()),
    }  # fmt: skip
    assert create(made, "a/b/c.txt", content) == {**expected, "written": True}
    before = (root / "a/b/c.txt").stat()
    assert create(made, "a/b/c.txt", content, overwrite=True) == {**expected, "written": False}
    assert (root / "a/b/c.txt").read_bytes() == content.encode()
    assert (root / "a/b/c.txt").stat().st_ino == before.st_ino
    assert names(root) == ["a", "a/b", "a/b/c.txt"]


def test_other_content_needs_overwrite(made, root):
    create(made, "a.txt", "one")
    with pytest.raises(Permanent, match="other content: give overwrite=True"):
        create(made, "a.txt", "two")
    assert (root / "a.txt").read_text() == "one"
    (root / "a.txt").chmod(0o640)
    assert create(made, "a.txt", "two", overwrite=True)["written"]
    assert (root / "a.txt").read_text() == "two"
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o640
    assert names(root) == ["a.txt"]


def test_large_content_is_compared_to_its_end(made, root):
    content = "x" * (10 << 20)
    made.create_file("a", content)
    assert not made.create_file("a", content)["written"]
    with pytest.raises(Permanent, match="other content"):
        made.create_file("a", content[:-1] + "y")


def test_deleting(made, root):
    create(made, "a.txt", "one")
    assert delete(made, "a.txt", require_exists=True) == {"path": "a.txt", "deleted": True}
    assert delete(made, "a.txt") == {"path": "a.txt", "deleted": False}
    assert delete(made, "no/folder/a.txt") == {"path": "no/folder/a.txt", "deleted": False}
    for path in ("a.txt", "no/folder/a.txt"):
        with pytest.raises(Permanent, match="does not exist: give require_exists=False"):
            delete(made, path, require_exists=True)
    assert names(root) == []  # no folder is made for a deletion


def test_a_file_that_an_earlier_attempt_may_have_deleted_is_not_missed(made):
    assert not delete(made, "a.txt", require_exists=True, attempt=2)["deleted"]
    assert not delete(made, "a.txt", require_exists=True, checkpoint={"found": True})["deleted"]


def test_plain_calls_work(made, root):
    assert made.create_file("a.txt", "one")["written"]
    assert made.delete_file("a.txt", require_exists=True)["deleted"]
    assert names(root) == []


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["", "/etc/x", "../x", "a/../../x", "a//x", "./x", "a/", ".", "a\0b", "a\x1b[2Jb", "a\nb", "a\x9bb"]
)
def test_paths_outside_their_root_are_refused(made, root, path):
    for run in (lambda: made.create_file(path, "x"), lambda: made.delete_file(path)):
        with pytest.raises(Permanent, match="relative to its root"):
            run()
    assert names(root.parent) == ["data"]


def test_no_link_is_followed(made, root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    for overwrite in (False, True):
        with pytest.raises(Permanent, match="link"):
            create(made, "folder/secret", "x", overwrite)
        with pytest.raises(Permanent, match="is a link"):
            create(made, "file", "x", overwrite)
    with pytest.raises(Permanent, match="link"):
        delete(made, "folder/secret")
    assert delete(made, "file")["deleted"]  # the link itself
    assert (outside / "secret").read_text() == "secret"
    assert names(outside) == ["secret"]


def test_what_is_no_file_is_refused_and_hangs_nothing(made, root, monkeypatch):
    os.mkfifo(root / "fifo")
    (root / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as unix:
        monkeypatch.chdir(root)  # the name of a socket is short
        unix.bind("socket")
    for name, what in (("fifo", "no regular file"), ("folder", "a folder"), ("socket", "no regular file")):
        with pytest.raises(Permanent, match=f"is {what}"):
            create(made, name, "x", overwrite=True)
    with pytest.raises(Permanent, match="is a folder"):
        delete(made, "folder")
    with pytest.raises(Permanent, match="no folder"):
        create(made, "fifo/a.txt", "x")


def test_names_that_are_too_long_are_refused(made, root):
    for path in ("x" * 256, "x" * 256 + "/a"):
        with pytest.raises(Permanent, match="too long"):
            create(made, path, "x")
        with pytest.raises(Permanent, match="too long"):
            delete(made, path)
    assert create(made, "x" * 255, "x")["written"]  # the temporary name is short


def test_several_roots_have_names(tmp_path):
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    made = files.register(Mainstay("sqlite:///:memory:"), roots={"in": tmp_path / "in", "results": tmp_path / "out"})
    create(made, "results/a.txt", "x")
    assert names(tmp_path) == ["in", "out", "out/a.txt"]
    for path in ("a.txt", "out/a.txt", "results"):
        with pytest.raises(Permanent, match="begin it with one of in/, results/"):
            create(made, path, "x")


def test_roots_are_checked_when_they_are_registered(tmp_path):
    app = Mainstay("sqlite:///:memory:")
    (tmp_path / "file").touch()
    for roots, text in (
        ("data", "give one folder"), ([], "give one folder"), (["a", "b"], "give one folder, .* by name"), ({}, "give one folder"),
        ({"a/b": "x"}, "without a slash"), ([tmp_path / "file"], "is no folder"), ([7], "is no folder"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=text):
            files.register(app, roots=roots)


def test_a_missing_root_is_tried_again_and_not_made(tmp_path):
    made = files.register(Mainstay("sqlite:///:memory:"), roots=[tmp_path / "disk"])
    for run in (lambda: create(made, "a", "x"), lambda: delete(made, "a")):
        with pytest.raises(FileNotFoundError, match="make it, or mount its disk"):
            run()
    assert names(tmp_path) == []


# Faults ---------------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_tried_again_and_nothing_is_left(made, root):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, before[1]))
    try:
        with pytest.raises(OSError) as raised:
            create(made, "a", "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.errno == errno.EFBIG
    assert names(root) == []


def test_without_hard_links_the_file_is_renamed(made, root, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(files.os, "link", refused)
    assert create(made, "a", "x")["written"]
    assert names(root) == ["a"]
    assert (root / "a").stat().st_nlink == 1


def test_a_file_that_comes_meanwhile_is_not_replaced(made, root, monkeypatch):
    original = os.link

    def late(*args, **kwargs):
        (root / "a").write_text(late.content)
        return original(*args, **kwargs)

    monkeypatch.setattr(files.os, "link", late)
    late.content = "theirs"
    with pytest.raises(Permanent, match="other content by now"):
        create(made, "a", "ours")
    assert (root / "a").read_text() == "theirs"
    (root / "a").unlink()
    late.content = "ours"
    assert not create(made, "a", "ours")["written"]
    assert names(root) == ["a"]


def killed_at(number, run):
    """Run in a child that is killed at its n-th step; return False if it has fewer."""
    child = os.fork()
    if child == 0:
        left = [number]
        for name in STEPS:
            original = getattr(os, name)

            def step(*args, _original=original, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                if _original is os_write and len(args[1]) > 1:  # half of it
                    return _original(args[0], bytes(args[1])[: len(args[1]) // 2])
                return _original(*args, **kwargs)

            setattr(os, name, step)
        try:
            run()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


os_write = os.write


@pytest.mark.parametrize("before", [None, "old"])
def test_a_kill_at_every_step_of_a_creation_ends_in_the_same_file(made, root, before):
    steps = 0
    while True:
        if before is not None:
            (root / "f").mkdir(exist_ok=True)
            (root / "f/a").write_text(before)
        if not killed_at(steps, lambda: create(made, "f/a", "new content", overwrite=before is not None)):
            break
        seen = (root / "f/a").read_text() if (root / "f/a").exists() else None
        assert seen in (before, "new content")  # never a part of it
        create(made, "f/a", "new content", attempt=2, overwrite=before is not None)
        assert (root / "f/a").read_text() == "new content"
        assert names(root) == ["f", "f/a"]
        (root / "f/a").unlink()
        (root / "f").rmdir()
        steps += 1
    assert steps >= 9


def test_a_kill_at_every_step_of_a_deletion_ends_without_the_file(made, root):
    steps = 0
    while True:
        (root / "a").write_text("x")
        if not killed_at(steps, lambda: delete(made, "a", require_exists=True)):
            break
        delete(made, "a", require_exists=True, attempt=2)
        assert names(root) == []
        steps += 1
    assert steps >= 3


def test_a_folder_that_is_swapped_for_a_link_lets_nothing_out(made, root, tmp_path):
    outside, done = tmp_path / "outside", threading.Event()
    outside.mkdir()

    def swap():
        for number in count():
            for step in (
                lambda: (root / "f").rename(root / f"gone-{number}"),  # noqa: B023  (called at once)
                lambda: (root / "f").symlink_to(outside),
                (root / "f").unlink,
            ):
                with suppress(OSError):
                    step()
            if done.is_set():
                return

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for number in range(200):
            with suppress(Permanent, OSError, files.FolderMissing):
                create(made, f"f/{number}", "x")
    finally:
        done.set()
        thread.join()
    assert names(outside) == []


# As jobs --------------------------------------------------------------------------------------------------------------


def test_jobs_complete_or_die_at_once(tmp_path, root):
    app = Mainstay(f"sqlite:///{tmp_path}/jobs.db")
    made = files.register(app, roots=[root], queue="files")
    assert (made.create_file.queue, made.delete_file.queue) == ("files", "files")
    with app.worker(concurrency=2):
        assert made.create_file.enqueue("a.json", content="{}").result(timeout=10)["size"] == 2
        for handle in (made.create_file.enqueue("../b", "x"), made.create_file.enqueue("a.json", "other")):
            with pytest.raises(JobFailed):
                handle.result(timeout=10)
            assert (app.get(handle).state, app.get(handle).attempt) == ("dead", 1)
        assert made.delete_file.enqueue("a.json").result(timeout=10) == {"path": "a.json", "deleted": True}
    app.close()
    assert names(root) == []


def test_a_file_is_named_by_its_whole_path_among_all_types(root):
    assert files.where({"": "/srv/data"}, "a/b.json") == "/srv/data/a/b.json"
    assert files.where({"in": "/srv/in", "out": "/srv/out"}, "out/b.json") == "/srv/out/b.json"


def test_a_file_system_that_cannot_sync_folders_is_used_all_the_same(made, root, monkeypatch):
    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(files.os, "fsync", only_files)
    assert create(made, "f/a", "x")["written"]
    assert delete(made, "f/a")["deleted"]
