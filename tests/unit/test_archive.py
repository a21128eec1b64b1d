"""Archives: whole lines on the disk or in the bucket before anything is removed; nothing is overwritten or followed."""

import gzip
import json

import pytest

from mainstay.core import jsonl
from mainstay.core.clock import MINUTE, ManualClock
from mainstay.core.errors import ArchiveError, ConfigError, StoreError
from mainstay.core.events import Events
from mainstay.stores import open_store
from mainstay.upkeep import prune as pruning
from mainstay.upkeep.archive import histories, open_archive
from mainstay.upkeep.prune import Prune
from tests.contract.building import Desk
from tests.servers import aws


@pytest.fixture
def desk():
    clock = ManualClock()
    with open_store("sqlite:///:memory:", clock) as store:
        yield Desk(store, clock)


@pytest.fixture
def done(desk):
    """Three completed jobs whose retention is over."""
    return [desk.bring("completed", keep=0, payload=json.dumps({"n": n})) for n in range(3)]


def files(folder):
    return sorted(folder.glob("*"))


def lines(folder):
    return [line for file in files(folder) for line in gzip.decompress(file.read_bytes()).decode().splitlines()]


def jobs(folder):
    return [history.job.id for history in map(jsonl.parse, lines(folder)) if history is not None]


def test_jobs_are_in_the_archive_before_they_are_removed(desk, done, tmp_path):
    archive = open_archive(str(tmp_path / "old"))
    chore = Prune(desk.store, Events(), archive)
    chore.step(desk.now)
    assert sorted(jobs(tmp_path / "old")) == sorted(done)
    assert [desk.state(job) for job in done] == [None] * 3
    (file,) = files(tmp_path / "old")
    assert file.name.startswith("mainstay-2025-06-15-")
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(lines(tmp_path / "old")[0])["format"] == jsonl.FORMAT


def test_a_file_has_one_header_and_is_appended_to(desk, tmp_path):
    archive = open_archive(str(tmp_path))
    for _ in range(3):
        job = desk.bring("completed")
        assert archive.write(histories(desk.store, [job]), desk.now) == 1
    assert len(files(tmp_path)) == 1
    assert len(lines(tmp_path)) == 4
    desk.clock.advance("1d")
    archive.write(histories(desk.store, []), desk.now)
    assert len(files(tmp_path)) == 2


def test_two_processes_write_two_files(desk, done, tmp_path):
    for job in done:
        open_archive(str(tmp_path)).write(histories(desk.store, [job]), desk.now)
    assert len(files(tmp_path)) == 3


def test_what_cannot_be_archived_is_not_removed_and_tried_again(desk, done, tmp_path):
    (tmp_path / "file").write_text("in the way")
    errors = []
    events = Events()
    events.on("store_error", lambda error, wait: errors.append(error))
    archive = open_archive(str(tmp_path / "file"))
    chore = Prune(desk.store, events, archive)
    assert chore.step(desk.now) == 60_000
    assert "No job is removed until it can" in str(errors[0])
    assert isinstance(errors[0], ArchiveError)
    assert [desk.state(job) for job in done] == ["completed"] * 3
    (tmp_path / "file").unlink()
    assert chore.step(desk.now) == 60_000  # they are held for others
    desk.clock.advance(pruning.HOLD / 1000)
    chore.step(desk.now)
    assert [desk.state(job) for job in done] == [None] * 3
    assert sorted(jobs(tmp_path / "file")) == sorted(done)


def test_an_error_in_the_middle_leaves_no_half_of_a_line(desk, done, tmp_path):
    archive = open_archive(str(tmp_path))

    def broken():
        yield from histories(desk.store, done[:1])
        raise StoreError("the server went away")

    with pytest.raises(StoreError):
        archive.write(broken(), desk.now)
    archive.write(histories(desk.store, done), desk.now)
    assert jobs(tmp_path) == done
    assert json.loads(lines(tmp_path)[0])["mainstay"] == "jobs"


def test_a_job_that_was_retried_in_between_stays(desk, tmp_path):
    job = desk.bring("dead", keep_dead=0)
    archive = open_archive(str(tmp_path))
    found = pruning.archived(desk.store, archive, desk.now)
    desk.store.retry([job], desk.now, "me")
    assert desk.store.prune_jobs(found).jobs == 0
    assert desk.state(job) == "queued"
    assert jobs(tmp_path) == [job]


@pytest.mark.parametrize("trap", ["link", "writable", "dangling"])
def test_a_folder_that_somebody_else_could_have_made_is_refused(desk, done, tmp_path, trap):
    other, folder = tmp_path / "other", tmp_path / "old"
    other.mkdir()
    if trap == "writable":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.symlink_to(other if trap == "link" else tmp_path / "nowhere")
    with pytest.raises(ArchiveError, match="cannot be written"):
        open_archive(str(folder)).write(histories(desk.store, done), desk.now)
    assert files(other) == []


def test_a_file_that_somebody_removes_is_not_written_to_any_more(desk, done, tmp_path):
    archive = open_archive(str(tmp_path))
    archive.write(histories(desk.store, done[:1]), desk.now)
    files(tmp_path)[0].unlink()
    archive.write(histories(desk.store, done[1:]), desk.now)
    assert jobs(tmp_path) == done[1:]

    def removing():
        yield from histories(desk.store, done)
        files(tmp_path)[0].unlink()

    with pytest.raises(ArchiveError):
        archive.write(removing(), desk.now)


def test_a_large_job_is_archived_whole(desk, tmp_path):
    job = desk.bring("completed", payload=json.dumps("x" * 10_000_000))
    open_archive(str(tmp_path)).write(histories(desk.store, [job]), desk.now)
    (history,) = filter(None, map(jsonl.parse, lines(tmp_path)))
    assert len(history.job.payload) == 10_000_002


@pytest.mark.parametrize("where", ["", "  ", "ftp://x/y", "s3://", "a\0b"])
def test_a_place_that_is_none_is_refused(where):
    with pytest.raises(ConfigError, match="archive="):
        open_archive(where)


# S3 -------------------------------------------------------------------------------------------------------------------
@pytest.fixture
def bucket(monkeypatch):
    """A client of moto's server on this machine, with a bucket."""
    pytest.importorskip("moto")
    import boto3

    for name, value in aws.one_for_all().environment().items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="jobs", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    return client


@pytest.mark.slow
def test_jobs_go_to_a_bucket_before_they_are_removed(bucket, desk, done):
    chore = Prune(desk.store, Events(), open_archive("s3://jobs/old/ones"))
    chore.step(desk.now)
    (listed,) = bucket.list_objects_v2(Bucket="jobs")["Contents"]
    assert listed["Key"].startswith("old/ones/2025-06-15/mainstay-")
    text = gzip.decompress(bucket.get_object(Bucket="jobs", Key=listed["Key"])["Body"].read()).decode()
    found = [history.job.id for history in map(jsonl.parse, text.splitlines()) if history is not None]
    assert sorted(found) == sorted(done)
    assert [desk.state(job) for job in done] == [None] * 3

    errors = []
    events = Events()
    events.on("store_error", lambda error, wait: errors.append(str(error)))
    kept = desk.bring("completed", keep=0)
    Prune(desk.store, events, open_archive("s3://nobody")).step(desk.now)
    assert "NoSuchBucket" in errors[0]
    assert desk.state(kept) == "completed"


# pace -----------------------------------------------------------------------------------------------------------------
def test_chunks_grow_while_they_are_fast_and_shrink_when_they_are_slow():
    pace = pruning.Pace()
    for _ in range(9):
        pace.took(1, full=True)
    assert (pace.size, pace.rest) == (pruning.MOST, pruning.BETWEEN)
    pace.took(4 * pruning.AIM, full=True)
    assert (pace.size, pace.rest) == (125, 12 * pruning.AIM)
    for _ in range(9):
        pace.took(1_000, full=True)
    assert pace.size == pruning.LEAST
    pace.took(1, full=False)
    assert pace.size == pruning.LEAST


def test_a_chore_removes_a_chunk_a_step(desk):
    for _ in range(pruning.FIRST + 5):
        desk.bring("completed", keep=0)
    seen, events = [], Events()
    events.on("pruned", lambda **fields: seen.append(fields["count"]))
    chore = Prune(desk.store, events)
    assert pruning.BETWEEN <= chore.step(desk.now) < MINUTE  # longer where the removal took long
    assert pruning.BETWEEN <= chore.step(desk.now) < MINUTE
    assert chore.step(desk.now) == MINUTE
    assert seen == [pruning.FIRST, 5]
