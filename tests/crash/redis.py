"""Redis under the campaign: its append-only file is the account of every move, in the order in which they happened.

The file tells no time, except that the records in it do: when a job was started, when a worker beat.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import redis
from msgspec import msgpack

from mainstay.stores import open_store
from mainstay.stores.redis.record import FIELDS, STATES
from tests.contract import redis_keys
from tests.servers.redis import place
from tests.simulation.history import Record

from .address import Address

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOTES = ("progress", "checkpoint")


class Redis:
    """One installation on a server that writes every command to its file before it answers."""

    transactions = False
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        address = Address(name, folder)
        self.url, self._direct = address.url, address.direct

    def prepare(self) -> None:
        """Nothing: the file is written from the start."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        raise NotImplementedError("Redis has no transactions of the user's own")
        yield

    def order(self, tx: Any, item: str) -> None:
        raise NotImplementedError

    def book(self, tx: Any, item: str, job: str, token: int) -> None:
        raise NotImplementedError

    def account(self) -> list[Record]:
        url, prefix = place(self._direct)
        with redis.Redis.from_url(url) as client:
            folder = client.config_get("dir")["dir"]
        return list(Account(prefix).read(commands(folder)))

    def orders(self) -> list[str]:
        return []

    def ledger(self) -> list[tuple[str, str, int]]:
        return []

    def damage(self) -> list[str]:
        """Keys that belong to no job, and indexes that do not agree with the jobs."""
        with open_store(self._direct) as store:
            try:
                redis_keys.check(store)
            except AssertionError as error:
                return [f"the keys are not in order: {error}"]
        return []

    def close(self) -> None:
        """Nothing is held."""


class Account:
    """Reads commands as moves, notes and leases."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix.encode()
        self._jobs: dict[str, dict[str, Any]] = {}
        self._at = self._n = 0

    def read(self, commands: Iterator[list[bytes]]) -> Iterator[Record]:
        """The records in a stream of commands."""
        for verb, key, *values in (command for command in commands if len(command) > 2):
            if key.startswith(self._prefix):
                reader = READERS.get((verb.upper().decode(), key.removeprefix(self._prefix).decode().partition(":")[0]))
                for told in reader(self, [*values]) if reader else ():
                    self._n += 1
                    yield told._replace(step=self._n, at=self._at)

    def written(self, values: list[bytes]) -> Iterator[Record]:
        """Records of jobs were written."""
        for id, packed in zip(map(bytes.decode, values[::2]), values[1::2], strict=True):
            old, new = (
                self._jobs.get(id),
                dict(zip_longest(FIELDS, msgpack.decode(packed))),
            )  # one of a plain job is shorter
            self._jobs[id] = new
            if new["state"] == "r" and (old or new)["started_at"] != new["started_at"]:
                self._at = max(self._at, new["started_at"])
            if old is None or (old["state"], old["token"]) != (new["state"], new["token"]):
                yield moved(id, new, old, new)

    def removed(self, values: list[bytes]) -> Iterator[Record]:
        """Jobs were removed."""
        for id in map(bytes.decode, values):
            if id in self._jobs:
                old = self._jobs.pop(id)
                yield moved(id, old, old, None)

    def noted(self, values: list[bytes]) -> Iterator[Record]:
        """Progress or a checkpoint was written: which attempt did so, the text does not tell, but it must run or have completed."""
        job = self._jobs[values[0].decode()]
        args = {"current": job["token"], "running": job["state"] in ("r", "c")}
        yield Record(0, 0, "engine", "note", "ok", values[0].decode(), job["token"], args)

    def leased(self, values: list[bytes]) -> Iterator[Record]:
        """Leases were begun or renewed."""
        for until, worker in zip(values[::2], values[1::2], strict=True):
            yield Record(0, 0, worker.decode(), "lease", args={"until": int(float(until))})

    def beaten(self, values: list[bytes]) -> Iterator[Record]:
        """A beat tells the time."""
        self._at = max(self._at, int(values[1].split()[1]))
        yield from ()

    def buried(self, values: list[bytes]) -> Iterator[Record]:
        """Workers left, or were counted out."""
        for worker in values:
            yield Record(0, 0, worker.decode(), "lease", args={"until": 0})


READERS = {
    ("HSET", "job"): Account.written, ("HMSET", "job"): Account.written, ("HDEL", "job"): Account.removed,
    **{("HSET", name): Account.noted for name in NOTES},
    ("ZADD", "workers"): Account.leased, ("HSET", "beat"): Account.beaten, ("ZREM", "workers"): Account.buried,
}  # fmt: skip


def moved(id: str, job: dict[str, Any], old: dict[str, Any] | None, new: dict[str, Any] | None) -> Record:
    """A change of state."""
    args = {"before": STATES[old["state"]] if old else "", "after": STATES[new["state"]] if new else "",
            "attempt": job["attempt"], "crashes": job["crashes"], "worker": job["worker"] or None,
            "run_at": job["run_at"] or None, "cancelling": bool(job["cancel_at"])}  # fmt: skip
    return Record(0, 0, "engine", "move", "ok", id, job["token"], args)


def commands(folder: str) -> Iterator[list[bytes]]:
    """The commands in a server's append-only files, oldest first; one that was cut short by a kill did not happen."""
    from pathlib import Path

    place = Path(folder)
    files = sorted(place.glob("appendonlydir/*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))
    for path in files or [place / "appendonly.aof"]:
        yield from parsed(path.read_bytes())


def parsed(data: bytes) -> Iterator[list[bytes]]:
    """The commands in one file. `#` begins a remark."""
    at = 0
    while at < len(data):
        end = data.find(b"\r\n", at)
        if data[at : at + 1] != b"*":
            at = end + 2
            continue
        command, at = [], end + 2
        for _ in range(int(data[data.rfind(b"*", 0, end) + 1 : end])):
            end = data.find(b"\r\n", at)
            size = int(data[at + 1 : end])
            command.append(data[end + 2 : end + 2 + size])
            at = end + 4 + size
        if at <= len(data):
            yield command
