"""What may stand in any file of the repository: nothing that is true only on one machine."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Written in pieces, so that this file does not find itself.
HOSTS = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "deb." + "debian.org"]
MACHINE_PATH = re.compile("(?<![\\w.~$}*-])/(work|root|" + "opt/pypi)(/|\\b(?=['\"]))")


def test_no_file_names_a_registry_host():
    assert [where for where, line in tracked_lines() if any(host in line for host in HOSTS)] == []


def test_no_file_names_a_path_of_one_machine():
    assert [where for where, line in tracked_lines() if MACHINE_PATH.search(line)] == []


@pytest.mark.parametrize("line", ["cd /" + "work/main", "'/" + "root'", "file:///" + "opt/pypi/simple"])
def test_a_machine_path_is_seen(line):
    assert MACHINE_PATH.search(line)


@pytest.mark.parametrize("line", ["docs/work/page.md", "work/", "https://host/" + "root.html", "$HOME/" + "work/x"])
def test_other_paths_are_not(line):
    assert not MACHINE_PATH.search(line)


def tracked_lines():
    """Every line of every file that is, or would be, in the repository, with its place."""
    for path in tracked():
        for number, line in enumerate(text(path).splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


def tracked():
    # The owner of the checkout may be another user (a container, a CI volume): git then wants to be told it is meant.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a git checkout to know which files are the repository's: {error}")
    return [path for path in map(ROOT.joinpath, filter(None, listed.split("\0"))) if path.is_file()]


def text(path):
    content = path.read_bytes()
    return "" if b"\0" in content else content.decode("utf-8", errors="replace")
