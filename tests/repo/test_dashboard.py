"""The dashboard as it is shipped: built from its sources with the pinned tools, small, and of one origin."""

import gzip
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import npm
from tests.servers.downloads import Unavailable

ROOT = Path(__file__).parents[2]
SOURCES, BUILT = ROOT / "dashboard", ROOT / "src/mainstay/web/static"
PINNED = ("package.json", "package-lock.json", ".npmrc")
LIMIT = 120_000  # bytes, gzipped: what a browser fetches at its first visit
FILE_LINES = 400
# Names of formats, and of examples that a page shows: nobody fetches those.
NAMES = re.compile(r"http://www\.w3\.org/|https://(?:[a-z]+\.)?example\.(?:org|com)/")


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory):
    """A copy of the sources with their tools, which are installed once for each lock file."""
    copy = tmp_path_factory.mktemp("built") / "dashboard"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("node_modules"))
    (copy / "node_modules").symlink_to(npm.kept(f"dashboard-{pinned()}", install) / "node_modules")
    return copy


def pinned():
    return hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in PINNED)).hexdigest()[:16]


def install(folder):
    """Install the tools of the lock file, without running any of their scripts."""
    print(
        "installing the tools of the dashboard: 150 MB, only when its lock file has changed",
        file=sys.stderr,
        flush=True,
    )
    for name in PINNED:
        shutil.copyfile(SOURCES / name, folder / name)
    command = [*npm.npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run(command, check=False, cwd=folder, stdout=sys.stderr, env=npm.environment()).returncode:
        raise Unavailable("npm ci failed; its own words are above. A registry of npm must be reachable once")


def run(dashboard, *command):
    """Run a tool of the dashboard; its words if it fails."""
    done = subprocess.run(
        [*npm.node(), *map(str, command)], check=False, cwd=dashboard, capture_output=True, text=True,
        env=npm.environment() | {"CI": "1", "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def files(folder):
    """The content of every file, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_what_is_shipped_is_what_the_sources_make(dashboard):
    made = dashboard.parent / "static"
    run(dashboard, "node_modules/vite/bin/vite.js", "build", "--outDir", made, "--emptyOutDir", "--logLevel", "warn")
    built, shipped = files(made), files(BUILT)
    assert sorted(built) == sorted(shipped), "run `npm run build` in dashboard/ and commit src/mainstay/web/static"
    assert [name for name in built if built[name] != shipped[name]] == []


@pytest.mark.slow
def test_the_sources_hold_their_types(dashboard):
    run(dashboard, "node_modules/typescript/bin/tsc", "--noEmit")


@pytest.mark.slow
def test_the_tests_of_the_sources_pass(dashboard):
    run(dashboard, "node_modules/vitest/vitest.mjs", "run")


def test_it_is_small():
    sizes = {name: len(gzip.compress(content, 9)) for name, content in files(BUILT).items()}
    assert sum(sizes.values()) <= LIMIT, sizes


def test_its_page_has_no_script_and_no_style_inside():
    page = (BUILT / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script\b([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert scripts
    assert [(given, body) for given, body in scripts if "src=" not in given or body.strip()] == []
    assert not re.search(r"<style\b|\sstyle=|\son\w+=", page)


def test_it_names_no_other_host():
    named = {
        f"{name}: {address}"
        for name, content in files(BUILT).items()
        for address in re.findall(r"""(?:https?:|(?<=["'(`]))//[A-Za-z0-9.-]+\.[a-z]{2,}[^\s"'`)]*""", content.decode())
        if not NAMES.match(address)
    }
    assert named == set()


def test_everything_that_its_page_names_is_there():
    page = (BUILT / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'(?:src|href)="(\./[^"]+)"', page)
    assert len(named) >= 2
    assert [name for name in named if not (BUILT / name).exists()] == []


def test_the_lock_file_names_no_registry():
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert "integrity" in lock


def test_its_sources_are_small_files():
    written = [
        path
        for path in SOURCES.rglob("*")
        if path.suffix in (".ts", ".tsx", ".css", ".mjs") and "node_modules" not in path.parts
    ]
    assert len(written) > 50
    assert [
        str(path.relative_to(ROOT))
        for path in written
        if len(path.read_text(encoding="utf-8").splitlines()) >= FILE_LINES
    ] == []
