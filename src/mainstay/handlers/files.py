"""Files: `create_file` and `delete_file`, inside the folders that `register` names, and never through a link.

Each step of a path is opened relative to the folder before it, so nobody can swap a folder for a link in between. A file appears
under its name whole or not at all, and is on disk when its job is completed. POSIX only: Windows has no `dir_fd`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypedDict

from mainstay import ConfigError, Permanent, UsageError, ctx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Unpack

    from mainstay import Job, Mainstay
    from mainstay.job_decorator import TypeOptions

FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a FIFO must not hang the slot
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)  # from a file system without hard links
CHUNK = 1 << 20
EARLIER = 50  # attempts whose temporary files are removed


class Written(TypedDict):
    """The result of `create_file`. `written` is false if the file had this content already."""

    path: str
    sha256: str
    size: int
    written: bool


class Deleted(TypedDict):
    """The result of `delete_file`. `deleted` is false if there was no such file."""

    path: str
    deleted: bool


class Place(NamedTuple):
    """A file: an open folder, and a name in it."""

    folder: int
    name: str


def register(
    app: Mainstay,
    roots: Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str]],
    **options: Unpack[TypeOptions],
) -> Files:
    """Register `create_file` and `delete_file`, which work inside these folders only; `options` are those of any job type.

    One folder in a list: paths are relative to it. A mapping of names to folders: the first part of a path is the name of its folder.
    """
    if os.open not in os.supports_dir_fd:
        raise ConfigError(
            "mainstay.handlers.files needs a POSIX system: this one cannot open files relative to a folder"
        )
    return Files(app, _checked_roots(roots), options)


class Files:
    """The job types: `files.create_file.enqueue("a.json", "{}")`."""

    def __init__(self, app: Mainstay, roots: Mapping[str, str], options: TypeOptions) -> None:
        def create_file(path: str, content: str, overwrite: bool = False) -> Written:
            """Write a file whole, or leave it as it is if it has this content. Other content needs `overwrite`."""
            with place(roots, path, make=True) as target:
                return create(target, path, content.encode(), overwrite)

        def delete_file(path: str, require_exists: bool = False) -> Deleted:
            """Remove a file. A missing one is an error only if `require_exists`."""
            try:
                with place(roots, path) as target:
                    return {"path": path, "deleted": delete(target, path, require_exists)}
            except FolderMissing:
                return {"path": path, "deleted": _missing(path, require_exists)}

        def created(job: Job) -> str | None:
            with suppress(FolderMissing), place(roots, job.args["path"]) as target:
                return differs(target, job.args["content"].encode())
            return "is missing"

        def gone(job: Job) -> str | None:
            with suppress(FolderMissing), place(roots, job.args["path"]) as target:
                return "exists" if exists(target) else None
            return None

        def subject(job: Job) -> str:  # a deletion supersedes a creation, and a job of another type that wrote the file
            return where(roots, job.args["path"])

        creating: TypeOptions = {"verify": created, "subject": subject, **options}
        deleting: TypeOptions = {"verify": gone, "subject": subject, **options}
        self.create_file = app.job(**creating)(create_file)
        self.delete_file = app.job(**deleting)(delete_file)


def exists(target: Place) -> bool:
    """Whether there is anything of that name."""
    with suppress(FileNotFoundError):
        os.stat(target.name, dir_fd=target.folder, follow_symlinks=False)
        return True
    return False


def digest(target: Place, path: str) -> str | None:
    """Return the SHA-256 of a file; None if it is missing."""
    found = hashlib.sha256()
    try:
        with _opened(target, path) as file:
            while block := os.read(file, CHUNK):
                found.update(block)
    except FileNotFoundError:
        return None
    return found.hexdigest()


def differs(target: Place, content: bytes) -> str | None:
    """Return how a file differs from what it should be; None: it does not."""
    try:
        with _opened(target, target.name) as file:
            return None if _equal(file, content) else "has other content"
    except FileNotFoundError:
        return "is missing"
    except Permanent as error:
        return str(error)


def _checked_roots(roots: object) -> dict[str, str]:
    """Return the folders by name; one without a name has the name ""."""
    if isinstance(roots, (list, tuple)) and len(roots) == 1:
        roots = {"": roots[0]}
    elif not isinstance(roots, dict) or not roots or "" in roots:
        raise ConfigError(
            f'roots={roots!r:.80}: give one folder, roots=["data"], or several by name, roots={{"data": "data", "out": "/srv/out"}}; '
            "the first part of a path is then the name of its folder"
        )
    for name, folder in roots.items():
        if not isinstance(name, str) or "/" in name or name in (".", ".."):
            raise ConfigError(f"roots: {name!r} cannot be the name of a folder: use a word without a slash")
        if not isinstance(folder, (str, os.PathLike)) or (os.path.exists(folder) and not os.path.isdir(folder)):
            raise ConfigError(f"roots: {folder!r:.80} is no folder")
    return {name: os.path.abspath(folder) for name, folder in roots.items()}


# Paths --------------------------------------------------------------------------------------------------------------


class FolderMissing(Exception):
    """A folder in a path does not exist."""


def where(roots: Mapping[str, str], path: str) -> str:
    """Return the whole path of a file, which names it among the jobs of all types."""
    root, parts = _split(roots, path)
    return "/".join((root, *parts))


@contextmanager
def place(roots: Mapping[str, str], path: str, make: bool = False) -> Iterator[Place]:
    """Open the folder of a path. With `make`, missing folders are made, and all of them are on disk."""
    root, parts = _split(roots, path)
    folder = _open_root(root)
    try:
        for part in parts[:-1]:
            inner = _enter(folder, part, path, make)
            os.close(folder)
            folder = inner
        yield Place(folder, parts[-1])
    finally:
        os.close(folder)


def _split(roots: Mapping[str, str], path: str) -> tuple[str, list[str]]:
    parts = path.split("/")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise Permanent(f"the path {path!r:.80} is no text that a file system takes: use another name") from None
    if any(part in ("", ".", "..") for part in parts) or any(c < " " or "\x7f" <= c <= "\x9f" for c in path):
        raise Permanent(
            f"the path {path!r:.80} is refused: write it relative to its root, without '.', '..', empty parts and control characters"
        )
    if "" in roots:
        return roots[""], parts
    if parts[0] not in roots or len(parts) == 1:
        raise Permanent(
            f"the path {path!r:.80} is in no root: begin it with one of {', '.join(f'{n}/' for n in roots)}"
        )
    return roots[parts[0]], parts[1:]


def _open_root(root: str) -> int:
    try:
        return os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:  # not made here: often it is a disk that is not mounted
        raise FileNotFoundError(errno.ENOENT, "the root folder is missing: make it, or mount its disk", root) from None


def _enter(folder: int, part: str, path: str, make: bool) -> int:
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
            _sync(folder)  # also one that an earlier attempt has made
        return os.open(part, FOLDER, dir_fd=folder)
    except FileNotFoundError:
        raise FolderMissing(f"a folder of {path!r:.200} is missing") from None
    except OSError as error:
        _refuse(error, path)


def _sync(folder: int) -> None:
    """Put the names in a folder on disk, where the file system can: some network ones refuse it for folders."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise


def _refuse(error: OSError, path: str) -> NoReturn:
    """Raise an error that ends the job if no retry can help."""
    why = {
        errno.ENOTDIR: "a part of it is a link or no folder; links are not followed",
        errno.ELOOP: "it is a link; links are not followed",
        errno.ENAMETOOLONG: "a name in it is too long for this file system",
        errno.EISDIR: "there is a folder of that name",
    }.get(error.errno or 0)
    if why is None:
        raise error
    raise Permanent(f"{path!r:.200} cannot be used: {why}") from error


# Create -------------------------------------------------------------------------------------------------------------


def create(target: Place, path: str, content: bytes, overwrite: bool) -> Written:
    """Make a file with this content, if it does not have it already; its folder and itself are on disk then."""
    temporary = _temporary(target.folder)
    found = _existing(target, path, content)
    if found == "other" and not overwrite:
        raise Permanent(f"{path!r:.200} exists with other content: give overwrite=True to replace it, or another path")
    if found != "equal":
        try:
            _write(target, temporary, content)
            _still_ours()
            found = _publish(target, temporary, path, content, overwrite)
        except OSError as error:
            _refuse(error, path)
        finally:
            _unlink(target.folder, temporary)
    _sync(target.folder)  # in any case: an earlier attempt may have been killed just before it
    known = hashlib.sha256(content).hexdigest()
    return {"path": path, "sha256": known, "size": len(content), "written": found != "equal"}


def _temporary(folder: int) -> str:
    """Return a name that no other attempt has, and remove what earlier attempts of this job have left."""
    try:
        job, token = ctx.id, ctx.job.token
    except UsageError:  # called plainly, outside a job
        return f".mainstay-{os.getpid()}-{id(object()):x}.tmp"
    for earlier in range(max(token - EARLIER, 0), token):
        _unlink(folder, f".mainstay-{job}-{earlier}.tmp")
    return f".mainstay-{job}-{token}.tmp"


def _still_ours() -> None:
    """Raise `LeaseLost` if another attempt has the job: a worker that was suspended must not undo what was done meanwhile."""
    with suppress(UsageError):  # outside a job
        job = ctx.job
        ctx._reporter.labels(job)  # noqa: SLF001  (read from the store each time)


def _unlink(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _existing(target: Place, path: str, content: bytes) -> str:
    """Return whether the file is `missing`, or has `equal` or `other` content. Anything but a file is refused."""
    try:
        with _opened(target, path) as file:
            if not _equal(file, content):
                return "other"
            os.fsync(file)
            return "equal"
    except FileNotFoundError:
        return "missing"


@contextmanager
def _opened(target: Place, path: str) -> Iterator[int]:
    try:
        _regular(os.stat(target.name, dir_fd=target.folder, follow_symlinks=False).st_mode, path)  # opens no device
        file = os.open(target.name, READ, dir_fd=target.folder)
    except OSError as error:
        _refuse(error, path)
    try:
        _regular(os.fstat(file).st_mode, path)
        yield file
    finally:
        os.close(file)


def _regular(mode: int, path: str) -> None:
    if not stat.S_ISREG(mode):
        what = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise Permanent(f"{path!r:.200} is {what}: remove it, or give another path")


def _equal(file: int, content: bytes) -> bool:
    if os.fstat(file).st_size != len(content):
        return False
    position = 0
    while block := os.read(file, CHUNK):
        if content[position : position + len(block)] != block:
            return False
        position += len(block)
    return position == len(content)


def _write(target: Place, temporary: str, content: bytes) -> None:
    file = os.open(temporary, NEW, 0o666, dir_fd=target.folder)
    try:
        with suppress(FileNotFoundError):  # a file that is replaced keeps its permissions
            os.fchmod(file, os.stat(target.name, dir_fd=target.folder, follow_symlinks=False).st_mode & 0o777)
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    finally:
        os.close(file)


def _publish(target: Place, temporary: str, path: str, content: bytes, overwrite: bool) -> str:
    """Give the file its name; return "equal" if another has made the same file meanwhile."""
    both = {"src_dir_fd": target.folder, "dst_dir_fd": target.folder}
    if not overwrite:
        try:
            os.link(temporary, target.name, **both, follow_symlinks=False)
            return "written"
        except FileExistsError:
            if _existing(target, path, content) == "equal":
                return "equal"
            raise Permanent(
                f"{path!r:.200} exists with other content by now: give overwrite=True to replace it"
            ) from None
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
    # Without hard links, a file that another program makes in this very moment is replaced.
    os.rename(temporary, target.name, **both)
    return "written"


# Delete -------------------------------------------------------------------------------------------------------------


def delete(target: Place, path: str, require_exists: bool) -> bool:
    """Remove a file, and return whether there was one; its absence is on disk then."""
    try:
        _regular_or_link(target, path)
        if require_exists:
            ctx.save(found=True)
        _still_ours()
        os.unlink(target.name, dir_fd=target.folder)
        deleted = True
    except FileNotFoundError:
        deleted = _missing(path, require_exists)
    except OSError as error:
        _refuse(error, path)
    _sync(target.folder)
    return deleted


def _regular_or_link(target: Place, path: str) -> None:
    """Raise for a folder, which `unlink` reports differently on each system. A link itself is removed, not what it points to."""
    if stat.S_ISDIR(os.stat(target.name, dir_fd=target.folder, follow_symlinks=False).st_mode):
        raise Permanent(f"{path!r:.200} is a folder: delete_file removes files")


def _missing(path: str, require_exists: bool) -> bool:
    """Return that nothing was deleted, or raise. An earlier attempt that was interrupted may have deleted the file."""
    if require_exists and ctx.attempt == 1 and not ctx.checkpoint.get("found"):
        raise Permanent(f"{path!r:.200} does not exist: give require_exists=False if that is no error")
    return False
