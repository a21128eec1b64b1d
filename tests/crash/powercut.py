"""Power cuts, simulated: cut a recorded run anywhere, keep of the unsynced writes what chance keeps, reopen, compare.

`python -m tests.crash.powercut [--cuts 2000] [--normal 200] [--seed N]`. Whatever was written to a file before its last sync
is there; of what came later a random part is there, some of it torn at 512-byte sectors; shared memory is gone. Removed
and renamed files are settled by the next sync of any file, as file systems with a journal do it. At `synchronous=full` no
acknowledged job may be missing and no file may be damaged. At `normal` some must be missing: a tool that never finds a
loss proves nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from mainstay import StoreError
from mainstay.stores.sqlite.store import SqliteStore

from .trace import ACKS, missing, record

if TYPE_CHECKING:
    from .trace import Statement

FOLDER = ""  # in `pending`: what was done to the folder itself
SECTOR = 512
KEPT, TORN = 0.5, 0.3  # the share of unsynced writes that reach the disk, and of those the share that is torn
JOBS = 1_200
MEMORY = next((path for path in ("/dev/shm",) if os.access(path, os.W_OK)), None)  # cut files need no disk of their own


class Verdict(NamedTuple):
    """What a cut did: how many promises were broken, and what was wrong with the file, if anything."""

    acked: int
    lost: int
    damage: str


class Disk:
    """The files as they surely are on the disk, and what was done to each since its last sync."""

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {}
        self.pending: dict[str, list[Statement]] = {}
        self.accepted: set[str] = set()
        self.completed: set[str] = set()

    def take(self, step: Statement) -> None:
        """Go one step on."""
        if step.name == ACKS:
            self._promise(step.data.decode().split())
        elif step.op == "s":
            self.sync(step.name)
        elif not step.name.endswith("-shm"):
            self.pending.setdefault(FOLDER if step.op in "ur" else step.name, []).append(step)

    def _promise(self, lines: list[str]) -> None:
        for line in lines:
            (self.accepted if line[0] == "+" else self.completed).add(line[1:])

    def sync(self, name: str) -> None:
        """What was done to a file, and to the folder, is done for good."""
        for step in self.pending.pop(name, []) + self.pending.pop(FOLDER, []):
            apply(self.files, step)
            if step.op in "ur":
                self.pending.pop(step.name, None)

    def cut(self, random: Random) -> dict[str, bytearray]:
        """The files after a power cut now."""
        files = {name: bytearray(content) for name, content in self.files.items()}
        for steps in self.pending.values():
            for step in steps:
                if random.random() < KEPT:
                    apply(files, step, random if random.random() < TORN else None)
        return files


def apply(files: dict[str, bytearray], step: Statement, torn: Random | None = None) -> None:
    """Do one step to the files; `torn` leaves out some of its sectors."""
    if step.op == "u":
        files.pop(step.name, None)
        return
    content = files.setdefault(step.name, bytearray())
    if step.op == "t":
        del content[step.offset :]
        content.extend(bytes(step.offset - len(content)))
        return
    if step.op == "r":
        files[step.data.decode()] = files.pop(step.name)
        return
    for at in range(0, len(step.data), SECTOR) if torn else (0,):
        if torn is None or torn.random() < KEPT:
            put(content, step.offset + at, step.data[at : at + SECTOR] if torn else step.data)


def put(content: bytearray, offset: int, data: bytes) -> None:
    """Overwrite; a gap before it reads as zeros."""
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def reopen(disk: Disk, files: dict[str, bytearray], folder: Path) -> Verdict:
    """Put the files down, open them with mainstay, and compare with the promises."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        states, damage = look(folder)
    except StoreError as error:
        return Verdict(len(disk.accepted), len(disk.accepted), f"{type(error).__name__}: {error}")
    broken = disk.accepted - states.keys() | {job for job in disk.completed if states.get(job) != "completed"}
    return Verdict(len(disk.accepted), len(broken), damage)


def look(folder: Path) -> tuple[dict[str, str], str]:
    """The state of every job, and what SQLite itself finds wrong."""
    with SqliteStore(f"sqlite:///{folder / 'jobs.db'}") as store:
        store.set_setting("opened", "1")  # it can be written, and a schema that was cut short is made anew
        states = dict(store.db.read(lambda c: c.execute("SELECT id, state FROM mainstay_job").fetchall()))
        (found,) = store.db.read(lambda c: c.execute("PRAGMA integrity_check").fetchone())
    return states, "" if found == "ok" else found


def cuts(steps: list[Statement], count: int, random: Random, folder: Path) -> list[Verdict]:
    """Cut a recorded run at `count` random places."""
    places = sorted(random.choices(range(len(steps) + 1), k=count))
    disk, at, verdicts = Disk(), 0, []
    for place in places:
        for step in steps[at:place]:
            disk.take(step)
        at = place
        verdicts.append(reopen(disk, disk.cut(random), folder))
    return verdicts


def campaign(synchronous: str, count: int, seed: int, jobs: int = JOBS) -> list[Verdict]:
    """Record one run at this level and cut it so often."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory(dir=MEMORY) as scratch:
        steps = record(Path(place), synchronous, jobs)
        return cuts(steps, count, Random(seed), Path(scratch) / "cut")


def summary(synchronous: str, verdicts: list[Verdict], seconds: float) -> str:
    """One row of the table."""
    losing = sum(verdict.lost > 0 for verdict in verdicts)
    most = max((verdict.lost for verdict in verdicts), default=0)
    damaged = sum(verdict.damage != "" for verdict in verdicts)
    acked = max((verdict.acked for verdict in verdicts), default=0)
    return f"{synchronous:12} {len(verdicts):6} {acked:6} {losing:8} {most:10} {damaged:8} {seconds:8.1f}"


def main(arguments: list[str] | None = None) -> int:
    """Cut at both levels, print the table; 1 when a promise was broken or the tool found nothing to find."""
    parser = argparse.ArgumentParser(prog="tests.crash.powercut", description=__doc__)
    parser.add_argument("--cuts", type=int, default=2_000, help="cuts at synchronous=full")
    parser.add_argument("--normal", type=int, default=200, help="cuts at synchronous=normal")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if missing():
        print(f"skipped: {missing()}")
        return 0
    print(f"{'synchronous':12} {'cuts':>6} {'acked':>6} {'losing':>8} {'most lost':>10} {'damaged':>8} {'seconds':>8}")
    kept = run("full", options.cuts, options.seed)
    lost = run("normal", options.normal, options.seed)
    good = flawless(kept) and telling(lost)
    print("ok" if good else "FAILED", f"(seed {options.seed})")
    return 0 if good else 1


def flawless(verdicts: list[Verdict]) -> bool:
    """Whether every promise was kept and every file is whole."""
    return not any(verdict.lost or verdict.damage for verdict in verdicts)


def telling(verdicts: list[Verdict]) -> bool:
    """Whether the weaker level shows what it must: some lost promises, no damage."""
    return any(verdict.lost for verdict in verdicts) and not any(verdict.damage for verdict in verdicts)


def run(synchronous: str, count: int, seed: int) -> list[Verdict]:
    """One level, with its row printed."""
    began = time.monotonic()
    verdicts = campaign(synchronous, count, seed)
    print(summary(synchronous, verdicts, time.monotonic() - began), flush=True)
    for verdict in [verdict for verdict in verdicts if verdict.damage][:3]:
        print(f"  {verdict.damage}")
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
