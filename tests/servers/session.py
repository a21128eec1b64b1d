"""Where the servers of one test session live: a folder that all its processes know, and that goes with the session."""

import atexit
import fcntl
import functools
import os
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

VARIABLE = "MAINSTAY_TEST_SESSION"
PREFIX = "mainstay-tests-"
ALIVE = "alive"
_mine = {}  # by process


def folder():
    """The session's folder. The first process that asks is its owner: when that one ends, every server ends."""
    known = os.environ.get(VARIABLE) or _mine.get(os.getpid())
    if known and Path(known, ALIVE).exists():
        return Path(known)
    sweep(base())
    made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base()))
    made.chmod(0o755)
    own(made / ALIVE)
    atexit.register(leave, made, os.getpid())
    _mine[os.getpid()] = str(made)  # a test may clear the environment
    os.environ[VARIABLE] = str(made)  # xdist's workers and other children share what is started there
    return made


def own(path):
    """Lock a file for as long as this process lives. Not for its children: a lock of this kind is not inherited."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.lockf(file, fcntl.LOCK_EX)


def leave(made, owner):
    """Remove the folder if no server runs there; otherwise their guardians do, a moment from now."""
    if os.getpid() == owner and not any(running(path) for path in made.glob("*/pid")):
        shutil.rmtree(made, ignore_errors=True)


def running(path):
    """Whether the process in a pid file lives."""
    try:
        os.kill(int(path.read_text(encoding="ascii")), 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return True


def sweep(place):
    """Remove what a session left behind that was killed before its servers were up."""
    for alive in place.glob(f"{PREFIX}*/{ALIVE}"):
        with suppress(OSError), alive.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused: its owner lives
            shutil.rmtree(alive.parent)


@functools.cache
def base():
    """A folder for temporary files that a server of another user can enter too, with a short name for its sockets."""
    choices = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    return next((path for path in choices if path.is_dir() and enterable(path)), choices[0])


def user():
    """Whom a server runs as: PostgreSQL refuses to be root. Empty: the user who runs the tests."""
    return "nobody" if os.geteuid() == 0 else ""


def enterable(path):
    """Whether any user can reach a folder and read it."""
    if not user():
        return True
    return all(place.stat().st_mode & stat.S_IXOTH for place in (path.resolve(), *path.resolve().parents))


def give(path):
    """Make the server's user the owner of a folder."""
    if user():
        shutil.chown(path, user())
        path.chmod(0o755)  # the folder only; what is inside is the server's own business


@contextmanager
def turn(name):
    """One process of the session at a time."""
    with (folder() / f"{name}.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
