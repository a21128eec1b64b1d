"""Errors of SQLite as ours, with what to do about them; and checks of a path before SQLite opens it."""

from __future__ import annotations

import os
import sqlite3

from ...core import errors

# Shared memory, which WAL needs, does not reach across these: the file would be damaged within minutes.
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "afs", "ceph", "glusterfs", "lustre", "ncpfs")


def mapped(error: BaseException, path: str) -> BaseException:
    """Return the error of ours for an error of SQLite; return any other error unchanged."""
    if isinstance(error, _UNFIT) or (isinstance(error, sqlite3.Error) and "binding parameter" in str(error)):
        return errors.UsageError(f"a value cannot be stored: {error}")
    if isinstance(error, UnicodeDecodeError):  # not even SQLite's own message can be decoded
        return errors.StoreCorrupt(f"{path}: {error}. {_KINDS[sqlite3.SQLITE_CORRUPT][1]}.")
    if not isinstance(error, sqlite3.Error):
        return error
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    kind, advice = _KINDS.get(code, (errors.StoreError, ""))
    if kind is errors.StoreError and isinstance(error, sqlite3.DatabaseError) and "malformed" in str(error):
        kind, advice = _KINDS[sqlite3.SQLITE_CORRUPT]
    return kind(f"{path}: {error}. {advice}".rstrip(". ") + ".")


def translate(error: BaseException, path: str) -> None:
    """Raise the error of ours for an error of SQLite; return if the error is not SQLite's."""
    fault = mapped(error, path)
    if fault is not error:
        raise fault from error


_UNFIT = (UnicodeEncodeError, OverflowError, sqlite3.DataError)
_KINDS: dict[int, tuple[type[errors.StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (errors.StoreBusy, "Another process held the write lock for too long; try again"),
    sqlite3.SQLITE_LOCKED: (errors.StoreBusy, "Another connection held the table; try again"),
    sqlite3.SQLITE_FULL: (errors.StoreFull, "Free some space on this disk; nothing accepted was lost"),
    sqlite3.SQLITE_IOERR: (errors.StoreUnavailable, "Reading or writing the file failed: check the disk and its quota"),
    sqlite3.SQLITE_CANTOPEN:
        (errors.StoreUnavailable, "Check that the file and its folder are there and may be read and written"),
    sqlite3.SQLITE_READONLY:
        (errors.StoreReadOnly, "Check the owner and mode of the file, its folder and the file system"),
    sqlite3.SQLITE_PERM: (errors.StoreReadOnly, "Check the owner and mode of the file"),
    sqlite3.SQLITE_CORRUPT: (errors.StoreCorrupt, "The file is damaged: stop the workers and restore a backup"),
    sqlite3.SQLITE_NOTADB: (errors.StoreCorrupt, "This is not a SQLite database: check the path in the URL"),
}  # fmt: skip


def check_path(path: str, create: bool, mounts: str | None = None) -> None:
    """Raise if a path cannot work, before SQLite opens it."""
    if not create and not os.path.exists(path):
        raise errors.StoreUnavailable(
            f"{path}: there is no such file. Check the URL; `mainstay worker` or an enqueue creates it."
        )
    if os.path.isdir(path):
        raise errors.ConfigError(f"{path} is a folder. Name a file in it, e.g. sqlite:///{path}/jobs.db")
    folder = os.path.dirname(os.path.realpath(path))  # of the file itself, not of a link to it
    _check_folder(path, folder)
    kind = file_system(folder, mounts)
    if kind in NETWORK or kind.startswith("fuse"):
        raise errors.ConfigError(
            f"{path} lies on a network or FUSE file system ({kind}), where SQLite's WAL damages files. "
            "Use a local disk, or PostgreSQL for several machines."
        )


def _check_folder(path: str, folder: str) -> None:
    try:
        os.stat(os.path.join(folder, "."))
    except FileNotFoundError:
        raise errors.StoreUnavailable(f"{path}: the folder {folder} does not exist. Create it first.") from None
    except OSError as error:
        why = f"cannot be entered ({(error.strerror or str(error)).lower()}). Check the path."
        raise errors.StoreUnavailable(f"{path}: the folder {folder} {why}") from None


def identity(path: str) -> tuple[int, int] | None:
    """Return which file is at a path; None if there is none, or if it is empty: no database is.

    SQLite removes the log of an empty file when it opens it. A connection that is open writes to the removed log then.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size else None


def file_system(folder: str, mounts: str | None = None) -> str:
    """Return the kind of file system a folder is on; "" where the operating system does not say.

    `mounts` is the text of Linux's mountinfo; None: of this machine.
    """
    text = _mounts() if mounts is None else mounts
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    best, kind = -1, ""
    real = os.path.realpath(folder) + "/"
    for line in text.splitlines():
        fields, _, tail = line.partition(" - ")
        part = fields.split(" ")
        point = part[4].rstrip("/") + "/"
        if "\\" in point:  # the kernel writes space, tab, newline and backslash as octal numbers after a backslash
            point = point.encode("latin-1", "backslashreplace").decode("unicode-escape")
        if part[2] == number and real.startswith(point) and len(point) >= best:
            best, kind = len(point), tail.split(" ", 1)[0]
    return kind


def _mounts() -> str:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def wal_reset_bug(version: tuple[int, int, int]) -> bool:
    """Return whether this SQLite can damage a WAL file when a checkpoint meets a write (fixed in 3.51.3, 3.50.7, 3.44.6)."""
    return (3, 7, 0) <= version < {(3, 44): (3, 44, 6), (3, 50): (3, 50, 7)}.get(version[:2], (3, 51, 3))
