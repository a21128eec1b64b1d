"""`export` writes jobs to a file, `import` reads them: lines of JSON (`core.jsonl`), as archives have them too."""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, cast

import click

from .. import redacting
from ..core import jsonl
from ..core.bulk import new_bulk
from ..core.errors import MainstayError, NotFound, UsageError
from ..core.export import ActionRecord, JobRecord
from ..core.redaction import MARK
from ..core.states import ENDED
from ..query import parse
from ..upkeep.archive import compressed, histories
from . import exits
from .actions import actor
from .jobs import every_id
from .options import command, on_store
from .output import escaped, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..app import Mainstay
    from ..core.export import JobHistory
    from .options import Target
    from .output import Output

PIECE = 200  # jobs per read
CHUNK, SIZE = 200, 8 << 20  # jobs per transaction of an import, or characters
LONGEST = 256 << 20  # bytes of a line
GZIP = b"\x1f\x8b"
ID = JobRecord._fields.index("id")


# Out ------------------------------------------------------------------------------------------------------------------
@command(
    """
    mainstay export -o jobs.jsonl.gz
    mainstay export 'state:dead type:mail.*' -o dead.jsonl
    mainstay export finished:today
    """
)
@click.argument("search", nargs=-1)
@click.option(
    "-o", "--out", "path", metavar="FILE", default="-", help="Where to write; a name that ends in .gz: compressed."
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.option("--unredacted", is_flag=True, help="Write the jobs as they are stored, with secrets.")
@on_store("Print no messages.")
def export(target: Target, output: Output, search: tuple[str, ...], path: str, force: bool, unredacted: bool) -> int:
    """Write jobs with their history to a file, as lines of JSON.

    Each line is a job with its attempts, its log, its result and what operators did; the first line says what the file is.
    Every job is written as it was in one moment. Without a search: all jobs, the oldest first.

    Secrets are redacted. A file that is to be imported somewhere to run its jobs needs --unredacted; mainstay move copies everything
    as it is stored.
    """
    words, found_secrets = " ".join(search), redacting.in_archives(unredacted)
    with target.open() as app, _target(path, force) as write:
        count, found = 0, _pieces(app, words)
        write([jsonl.header(app.clock.now(), words, found_secrets is not None)])
        for piece in filter(None, found):
            lines = [jsonl.line(history, found_secrets) for history in histories(app.store, piece)]
            write(lines)
            count += len(lines)
            output.live(f"{count:,} jobs")
    output.live()
    if path != "-":
        output.give(
            lambda: {"jobs": count, "file": path}, (), lambda: output.talk(f"{plural(count, 'job')} written to {path}")
        )
    return exits.OK


def _pieces(app: Mainstay, search: str) -> Iterator[list[str]]:
    """Return the ids of the jobs, some at a time, the oldest first. Searches before it returns."""
    if not search.strip():
        return _all(app)
    ids = every_id(app, parse(search, app.clock.now()))[::-1]
    return (ids[start : start + PIECE] for start in range(0, len(ids), PIECE))


def _all(app: Mainstay) -> Iterator[list[str]]:
    batch = app.store.export_rows("jobs", None, PIECE)
    while True:
        yield [row[ID] for row in batch.rows]
        if batch.after is None:
            return
        batch = app.store.export_rows("jobs", batch.after, PIECE)


@contextmanager
def _target(path: str, force: bool) -> Iterator[Any]:
    """Give a function that writes lines to a file, or to stdout. A file appears under its name when it is whole."""
    if path == "-":
        yield lambda lines: sys.stdout.writelines(f"{escaped(line)}\n" for line in lines)
        return
    try:
        device = os.path.exists(path) and not os.path.isfile(path)  # or a pipe: never replaced by a file
        with open(path, "wb") if device else _whole(path, force) as file:
            yield lambda lines: file.writelines(_encoded(lines, path))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def _whole(path: str, force: bool) -> Iterator[IO[bytes]]:
    """Give a file that gets its name when it is whole and on the disk."""
    if os.path.lexists(path) and not force:
        raise UsageError(f"{path} exists: choose another name, or add --force to replace it")
    part = f"{path}.{os.getpid()}.part"
    file = os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def _encoded(lines: Iterable[str], path: str) -> Iterable[bytes]:
    return compressed(lines) if path.endswith(".gz") else (f"{line}\n".encode() for line in lines)


# In -------------------------------------------------------------------------------------------------------------------
@command(
    """
    mainstay import jobs.jsonl.gz --dry-run
    mainstay import jobs.jsonl.gz
    mainstay import old-jobs/mainstay-2026-01-31-*.jsonl.gz
    mainstay import waiting.jsonl --requeue
    """
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--requeue", is_flag=True, help="Enqueue the jobs that had not ended; they run again from the start.")
@click.option("--dry-run", is_flag=True, help="Only check the files and print what would be done.")
@on_store("Print no messages.")
def import_(target: Target, output: Output, files: tuple[str, ...], requeue: bool, dry_run: bool) -> int:
    """Read jobs from files that export or an archive has written.

    A file named - is stdin. All lines are checked first: a mistake names its line, and nothing is imported. Ended jobs become history, with attempts,
    log and result, and are kept from now on as long as their retention says. A job whose id is there already is left alone, so
    the command may be repeated. Jobs that had not ended are left out, unless --requeue is given.
    """
    with target.open(create=not dry_run) as app, _sources(files) as sources:
        found = _checked(app, output, sources, requeue)
        if not dry_run:
            _import(app, output, sources, found, requeue)
    output.live()
    counts = {name: found[name] for name in ("imported", "exists", "requeued", "key_taken", "not_ended")}
    output.give(lambda: counts, (), lambda: output.talk(_said(counts, dry_run)))
    if found["redacted"]:
        output.talk(
            f"the file was redacted: {plural(found['redacted'], 'job')} have marks in place of secrets in their arguments"
        )
    return exits.PARTIAL if found["key_taken"] else exits.OK


def _said(counts: dict[str, int], dry_run: bool) -> str:
    words = {
        "imported": "would be imported" if dry_run else "imported", "exists": "there already", "requeued": "enqueued",
        "key_taken": "left out because another job has the key", "not_ended": "left out because not ended (--requeue)",
    }  # fmt: skip
    said = [f"{plural(count, 'job')} {words[name]}" for name, count in counts.items() if count or name == "imported"]
    return ", ".join(said) + (". Nothing changed." if dry_run else "")


@contextmanager
def _sources(paths: tuple[str, ...]) -> Iterator[dict[str, IO[bytes]]]:
    """Give the files, each to be read twice: stdin and pipes are copied."""
    files: dict[str, IO[bytes]] = {}
    try:
        for path in dict.fromkeys(paths):
            file = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115  (closed below)
            files[path] = file if file.seekable() and path != "-" else _copied(file)
        yield files
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {error.filename}") from error
    except OSError as error:
        raise UsageError(f"{error.filename or 'a file'} cannot be read: {error.strerror or error}") from error
    finally:
        for file in files.values():
            file.close()


def _copied(file: IO[bytes]) -> IO[bytes]:
    copy = TemporaryFile()  # noqa: SIM115  (the caller closes it)
    copyfileobj(file, copy)
    if file is not sys.stdin.buffer:
        file.close()
    return copy


def _chunks(sources: dict[str, IO[bytes]]) -> Iterator[list[JobHistory]]:
    """Return the jobs of all files, some at a time."""
    chunk: dict[str, JobHistory] = {}  # an archive may have a job twice, after a crash: the last counts
    size = 0
    for path, file in sources.items():
        for number, text in _lines(path, _plain(file)):
            history = _parsed(path, number, text)
            if history is not None:
                chunk[history.job.id] = history
                size += len(text)
            if len(chunk) >= CHUNK or size >= SIZE:
                yield list(chunk.values())
                chunk, size = {}, 0
    yield list(chunk.values())


def _parsed(path: str, number: int, text: str) -> JobHistory | None:
    """Return the job of a line, None for a header. An error says in which line it is."""
    try:
        history = jsonl.parse(text)
    except UsageError as error:
        raise UsageError(f"{path}, line {number}: {error}") from None
    if number == 1 and history is not None:
        raise UsageError(f"{path}, line 1: the first line of a file is its header, and this is a job")
    return history


def _plain(file: IO[bytes]) -> IO[bytes]:
    """Return a file from its beginning, decompressed if it is compressed."""
    file.seek(0)
    start = file.read(len(GZIP))
    file.seek(0)
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if start == GZIP else file


def _lines(path: str, file: IO[bytes]) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        while line := file.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                raise UsageError(f"{path}, line {number}: it is longer than {LONGEST >> 20} MB")
            if line.strip():
                yield number, line.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}, line {number}: it is not UTF-8") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path}, after line {number}: the compressed file is damaged or cut off ({error})") from None
    if not number:
        raise UsageError(f"{path} is empty: the first line of a file is its header")


def _checked(app: Mainstay, output: Output, sources: dict[str, IO[bytes]], requeue: bool) -> Counter[str]:
    """Check every line; return how many jobs would be imported, are there already, had not ended, or lost values to redaction."""
    found: Counter[str] = Counter()
    seen: set[str] = set()
    for chunk in _chunks(sources):
        for history in chunk:
            found["redacted"] += _is_redacted(history, requeue)
        ended = {history.job.id for history in chunk if history.job.state in ENDED}
        there = {job.id for job in app.store.get_many(sorted(ended - seen))} | (ended & seen)
        seen |= ended
        found.update(imported=len(ended - there), exists=len(there), not_ended=len(chunk) - len(ended))
        output.live(f"{found.total() - found['redacted']:,} jobs checked")
    return found


def _is_redacted(history: JobHistory, requeue: bool) -> bool:
    """Whether an export took secrets out of the arguments. Such a job cannot run."""
    found = MARK in history.job.payload
    if found and requeue and history.job.state not in ENDED:
        raise UsageError(
            f"the arguments of job {history.job.id} were redacted when the file was written, so it cannot run here",
            "mainstay export --unredacted …   (then import that file)",
        )
    return found


def _import(app: Mainstay, output: Output, sources: dict[str, IO[bytes]], found: Counter[str], requeue: bool) -> None:
    """Import the jobs, a transaction per chunk, with one line of the audit trail before all."""
    bulk, wanted = new_bulk().id, found["imported"] + (found["not_ended"] if requeue else 0)
    if wanted:
        detail = json.dumps({"jobs": wanted, "file": ", ".join(map(os.path.basename, sources))[:200]})
        app.store.record_action(ActionRecord(app.clock.now(), actor(), "import", None, detail, bulk))
    redacted = found["redacted"]
    found.clear()
    found["redacted"] = redacted
    for chunk in _chunks(sources):
        ended = [jsonl.as_history(each, app.clock.now(), bulk) for each in chunk if each.job.state in ENDED]
        imported = app.store.import_jobs(ended)
        found.update(imported=len(imported), exists=len(ended) - len(imported))
        for each in chunk:
            if each.job.state not in ENDED:
                found[_requeued(app, each) if requeue else "not_ended"] += 1
        output.live(f"{found.total() - found['redacted']:,} jobs")


def _requeued(app: Mainstay, history: JobHistory) -> str:
    """Enqueue a job that had not ended; return what became of it."""
    if app.store.get(history.job.id) is not None:
        return "exists"
    draft = jsonl.as_draft(history.job)
    try:
        ((accepted, _),) = app.store.enqueue([draft], app.clock.now())
    except MainstayError as error:
        error.add_note(f"at the job {history.job.id}; those before it are imported, and the same command goes on")
        raise
    return "requeued" if accepted == history.job.id else "key_taken"
