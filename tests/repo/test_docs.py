"""Every example in the README and the docs runs, and prints what the page says it prints."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNNER = Path(__file__).with_name("page.py")
PAGES = [path for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))] if path.exists()]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page, tmp_path):
    assert run(page, tmp_path) == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_says_what_its_client_for_tests_needs(page):
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if "import TestClient" in line]
    assert [line for line in lines if "pip install httpx2" not in line] == []  # no extra of mainstay has it


def run(page, folder):
    """Run a page in a folder; answer what went wrong, or nothing."""
    with (folder / ".output").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, RUNNER, page],
            cwd=folder, env=environment(folder), stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # whatever the page left in the background
        output.seek(0)
        return output.read() if status else ""


def environment(folder):
    """The user's environment, without their settings of mainstay and with plain output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAINSTAY_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | {"PATH": path, "HOME": str(folder), "NO_COLOR": "1", "COLUMNS": "120", "TZ": "UTC"}
