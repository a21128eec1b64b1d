"""Two commits side by side: the checkout of the other one, and each as a contender that today's measures can run.

A side runs the `bench` and the `src` of its own commit in processes of its own, because names inside the package differ between
commits. What must stay the same between commits is small: the arguments and the JSON of `bench.producer`, the variables `BENCH_DB` and
`BENCH_MARKS`, the layout of the marks, and the methods `count`, `workers` and `cold` of the contender named mainstay.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .contenders import Contender, Stored
from .processes import ROOT, Failed

if TYPE_CHECKING:
    from collections.abc import Sequence

BASELINE = (
    "01c9372"  # the last commit before the shared SQL and the lanes; every later change publishes its ratio to it
)
CHECKOUTS = ROOT / "build" / "against"  # git ignores it, and `make clean` removes it
CHILD = ROOT / "bench" / "child"
APP = "bench.contenders.mainstay_jobs:app"
CHECK = "\nimport sys, mainstay\nif mainstay.__file__ != {package!r}: sys.exit('imported ' + mainstay.__file__)\n"


class Side(Contender):
    """The mainstay of one commit. Every process checks that it has imported the package of this commit."""

    def __init__(self, engine: str, name: str, root: Path, bench: str) -> None:
        self.engine, self.name, self.root = engine, name, root
        self.own = importlib.import_module(f"{bench}.contenders").named(engine, "mainstay")
        self.package_file = str(root / "src" / "mainstay" / "__init__.py")
        paths = [str(root / "src"), str(CHILD), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = {"PYTHONPATH": os.pathsep.join(paths), "BENCH_PACKAGE": self.package_file}

    def producer(self, address: str, action: str, count: int) -> list[str]:
        return [sys.executable, "-m", "one_side", self.engine, "mainstay", address, action, str(count)]

    def count(self, address: str) -> Stored:
        return Stored(*self.own.count(address))

    def workers(self, address: str, processes: int) -> list[list[str]]:
        commands: list[list[str]] = self.own.workers(address, processes)
        if not all(APP in command for command in commands):
            raise Failed(f"the worker of {self.name} does not load {APP}, so its package cannot be checked")
        return [["one_side:app" if part == APP else part for part in command] for command in commands]

    def cold(self, address: str) -> str:
        return str(self.own.cold(address)) + CHECK.format(package=self.package_file)


def sides(engine: str, root: Path) -> list[Contender]:
    """This working tree, and the commit that is checked out in `root`."""
    _compile([ROOT, root])
    return [Side(engine, "this", ROOT, "bench"), Side(engine, root.name[:7], root, _bench_of(root))]


def checkout(revision: str) -> Path:
    """The folder that holds `src` and `bench` of a commit; made once, then used again."""
    commit = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    folder = CHECKOUTS / commit
    if not folder.exists():
        CHECKOUTS.mkdir(parents=True, exist_ok=True)
        made = tempfile.mkdtemp(dir=CHECKOUTS)
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, "src", "bench"))) as archive:
            archive.extractall(made, filter="data")
        _renamed(made, folder)
    return folder


def _renamed(made: str, folder: Path) -> None:
    """Give a complete checkout its name; another run may have been faster."""
    try:
        Path(made).rename(folder)
    except OSError:
        shutil.rmtree(made)
        if not folder.exists():
            raise


def _compile(folders: Sequence[Path]) -> None:
    """Write the bytecode of both sides, so that no process compiles while it is measured."""
    paths = [str(folder / name) for folder in folders for name in ("src", "bench")]
    subprocess.run([sys.executable, "-m", "compileall", "-q", *paths], check=True)


def _git(*arguments: str) -> bytes:
    ended = subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=ROOT, capture_output=True, check=False)
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip() or "there is no such commit: fetch it, or name another"
        raise SystemExit(f"git {' '.join(arguments)}: {said}")
    return ended.stdout


def _bench_of(root: Path) -> str:
    """Import the `bench` package of another checkout under a name of its own, and return that name."""
    name = f"bench_{root.name[:7]}"
    if name not in sys.modules:
        folder = root / "bench"
        spec: Any = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        sys.modules[name] = importlib.util.module_from_spec(spec)
        _same_work(importlib.import_module(f"{name}.marks"))
    return name


def _same_work(marks: Any) -> None:
    """Both sides must store the same payload."""
    from .marks import payload

    if marks.payload(0) != payload(0):
        raise SystemExit("the benches of the two commits store different payloads: their figures cannot be compared")
