"""Archives of jobs that are about to be removed: compressed lines of JSON (`core.jsonl`), in a folder or in an S3 bucket.

`write` returns when the jobs are on the disk or in the bucket; only then may they be removed. A crash in between archives them twice:
their ids tell. Nothing is ever overwritten: each process writes files of its own, one a day, and each upload is an object.
"""

from __future__ import annotations

import os
import socket
import time
import zlib
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Protocol

from ..core import jsonl
from ..core.errors import ArchiveError, ConfigError
from ..stores.local_workers import distrust

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..core.export import JobHistory
    from ..core.redaction import Redactor
    from ..stores.contract import Store

PIECE = 20  # jobs read at once: payloads may have megabytes
BLOCK = 1 << 20  # characters that are compressed at once
GZIP = 31  # for zlib: with the header and the checksum of a gzip file
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
S3 = "s3://"


class Archive(Protocol):
    """Where removed jobs go."""

    def write(self, jobs: Iterable[JobHistory], now: int) -> int:
        """Store jobs durably and return how many there were; raises `ArchiveError` if that cannot be known."""

    def close(self) -> None:
        """Close what is open."""


def open_archive(where: str, redactor: Redactor | None = None) -> Archive:
    """Return the archive in a folder, or at `s3://bucket/prefix`. Nothing is written yet. A redactor takes secrets out."""
    if where.startswith(S3):
        return BucketArchive(where, redactor)
    if "://" in where or not where.strip() or "\0" in where:
        raise ConfigError(f'archive={where!r}: give a folder, or "s3://bucket/prefix"')
    return FolderArchive(where, redactor)


def histories(store: Store, ids: Sequence[str]) -> Iterator[JobHistory]:
    """Return jobs with their history, read a few at a time."""
    for start in range(0, len(ids), PIECE):
        yield from store.export_jobs(ids[start : start + PIECE])


def compressed(lines: Iterable[str]) -> Iterator[bytes]:
    """Return lines as a gzip file, in pieces. Such files may stand one behind the other in one file."""
    packer = zlib.compressobj(wbits=GZIP)
    for block in _blocks(lines):
        yield packer.compress(block.encode())
    yield packer.flush()


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Return lines joined to blocks of about one size, each with its end."""
    block, size = [], 0
    for line in lines:
        block.append(f"{line}\n")
        size += len(line)
        if size >= BLOCK:
            yield "".join(block)
            block, size = [], 0
    yield "".join(block)


class Lines:
    """The header, if the file is new, and a line for each job, without secrets if there is a redactor; counts the jobs."""

    def __init__(self, jobs: Iterable[JobHistory], now: int | None, redactor: Redactor | None) -> None:
        self._header = None if now is None else jsonl.header(now, redacted=redactor is not None)
        self._jobs, self._redactor, self.count = jobs, redactor, 0

    def __iter__(self) -> Iterator[str]:
        if self._header is not None:
            yield self._header
        for job in self._jobs:
            yield jsonl.line(job, self._redactor)
            self.count += 1


def _day(now: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now / 1000))


def _process() -> str:
    """Return a name for this process that no other has."""
    host = "".join(c if c.isalnum() else "-" for c in socket.gethostname())[:40]
    return f"{host}-{os.getpid()}-{os.urandom(4).hex()}"


class FolderArchive:
    """One file a day and process: `mainstay-2026-01-31-HOST-PID-RANDOM.jsonl.gz`."""

    def __init__(self, folder: str, redactor: Redactor | None = None) -> None:
        self._redactor = redactor
        self._folder = os.path.abspath(os.path.expanduser(folder))
        self._file, self._of = -1, ("", 0)  # the open file, and the day and process that it is of

    def write(self, jobs: Iterable[JobHistory], now: int) -> int:
        """Append jobs to the file of the day and sync it. What an error has left behind is cut off again."""
        try:
            self._open(now)
            return self._append(jobs, now)
        except OSError as error:
            self.close()
            raise ArchiveError(
                f"the archive {self._folder} cannot be written: {error.strerror or error}. No job is removed until it can"
            ) from error

    def _append(self, jobs: Iterable[JobHistory], now: int) -> int:
        size = os.fstat(self._file).st_size
        lines = Lines(jobs, None if size else now, self._redactor)
        try:
            for piece in compressed(lines):
                _write_all(self._file, piece)
            os.fsync(self._file)
        except BaseException:
            os.ftruncate(self._file, size)
            raise
        if not os.fstat(self._file).st_nlink:
            raise OSError(f"somebody has removed the file that was being written, with {lines.count} jobs")
        return lines.count

    def _open(self, now: int) -> None:
        """Open the file of this day and process, unless it is open."""
        of = _day(now), os.getpid()
        if self._file >= 0 and self._of == of and os.fstat(self._file).st_nlink:
            return
        self.close()
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        why = distrust(self._folder)
        if why:
            raise OSError(f"it {why}: name a folder of your own, to which nobody else can write (chmod go-w)")
        folder = os.open(self._folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            self._file = os.open(f"mainstay-{of[0]}-{_process()}.jsonl.gz", FLAGS, 0o600, dir_fd=folder)
            os.fsync(folder)
        finally:
            os.close(folder)
        self._of = of

    def close(self) -> None:
        """Close the file; the next write makes another."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


class BucketArchive:
    """An object for each write: `PREFIX/2026-01-31/mainstay-HOST-PID-RANDOM-1.jsonl.gz`. boto3 finds region and credentials."""

    def __init__(self, url: str, redactor: Redactor | None = None) -> None:
        self._redactor = redactor
        self._bucket, _, self._prefix = url.removeprefix(S3).strip("/").partition("/")
        if not self._bucket:
            raise ConfigError(f'archive={url!r}: name the bucket: "s3://bucket/prefix"')
        self._client: Any = _s3()
        self._name, self._written = _process(), 0

    def write(self, jobs: Iterable[JobHistory], now: int) -> int:
        """Upload jobs as one object."""
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

        lines = Lines(jobs, now, self._redactor)
        self._written += 1
        key = "/".join(filter(None, [self._prefix, _day(now), f"mainstay-{self._name}-{self._written}.jsonl.gz"]))
        with TemporaryFile() as file:
            _fill(file, lines)
            try:
                self._client.put_object(Bucket=self._bucket, Key=key, Body=file, ContentType="application/gzip")
            except (BotoCoreError, ClientError) as error:
                raise ArchiveError(
                    f"the archive {S3}{self._bucket} cannot be written: {error}. No job is removed until it can"
                ) from error
        return lines.count

    def close(self) -> None:
        """Do nothing: no upload is open between two writes."""


def _fill(file: IO[bytes], lines: Lines) -> None:
    for piece in compressed(lines):
        file.write(piece)
    file.seek(0)


def _s3() -> Any:
    try:
        import boto3  # type: ignore[import-untyped]
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise ConfigError("an archive in S3 needs boto3: pip install 'mainstay[aws]'") from error
    try:
        return boto3.client("s3")
    except BotoCoreError as error:
        raise ConfigError(f"the archive in S3 cannot be used: {error}") from error
