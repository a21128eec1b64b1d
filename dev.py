#!/usr/bin/env python3
"""Everything a checkout needs, with nothing but Python 3.11 or newer.

All commands share one virtual environment, `.venv`, where editors find it too. `demo` installs only the package; the
other commands add the tools they need, once. The environment is made anew when the Python or the place of the checkout
has changed, and filled again when pyproject.toml has; otherwise a start costs nothing.
"""

import sys

# The whole file must parse on Pythons older than the one it asks for, or nobody would see this sentence.
if sys.version_info < (3, 11):
    sys.exit("mainstay needs Python 3.11 or newer, this is %d.%d: try python3.13 dev.py ..." % sys.version_info[:2])

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")

PACKAGE = ["--editable", "."]
PROFILES = {
    "demo": ["--editable", ".[dashboard]"],
    "dev": [*PACKAGE, "--group", "dev"],
    "bench": [*PACKAGE, "--group", "bench"],
}
CHECKS = [
    ["ruff", "check", "."],
    ["ruff", "format", "--check", "."],
    ["mypy"],
    ["lint-imports", "--no-logo"],
]

# Tests mostly wait, for servers and for processes: three at a time share two cores. Slow ones are handed out one by one, because some
# take a minute. Those that check how long something takes have the machine to themselves.
PARALLEL = [["-n", "3", "-m", "not slow"], ["-n", "3", "--maxschedchunk", "1", "-m", "slow and not alone"]]
ALONE = ["-m", "alone"]
# On a busy machine a test of real servers and processes may run out of time. So the few that fail beside others are run once more, by
# themselves; the end of the run names them in any case. More than these are no accident.
AGAIN = 5
SOME_FAILED = 1  # pytest's exit code
LAST_FAILED = Path(".pytest_cache", "suite")  # apart from the cache of whoever runs pytest by hand

NO_VENV = """
dev.py: Python could not make a virtual environment in {venv}; its own words are above.
  - Debian and Ubuntu keep that part in a package of its own:  apt install python3-venv
  - or let uv do it:  uv run mainstay demo  /  uv run --group dev pytest
  - the folder must be writable for you"""
NO_INSTALL = """
dev.py: pip could not install what is needed; its own words are above.
  A package index must be reachable once. To start afresh:  rm -r .venv  and run this again."""


def main(arguments: list[str]) -> None:
    """Run one command; what follows its name is passed on."""
    name, *rest = arguments or ["help"]
    name = "help" if name in ("-h", "--help") else name
    if name not in COMMANDS:
        sys.exit(f"dev.py: there is no command {name!r}\n\n{usage()}")
    os.chdir(ROOT)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # thousands of processes would compile the package anew
    COMMANDS[name](rest)


def usage() -> str:
    """One line for each command."""
    lines = [f"  {name:11} {command.__doc__}" for name, command in COMMANDS.items()]
    return "\n".join(["usage: python3 dev.py COMMAND [ARGUMENTS]", "", *lines])


# Commands


def show_help(_: list[str]) -> None:
    """Show this list."""
    print(usage())


def setup(_: list[str]) -> None:
    """Prepare .venv with all development tools."""
    prepare("dev")


def demo(arguments: list[str]) -> None:
    """See mainstay work: mainstay demo."""
    prepare("demo")
    become(tool("mainstay"), "demo", *arguments)


def test(arguments: list[str]) -> None:
    """Check everything: lint, types, layers, then all tests, the fast ones first."""
    check([])
    if arguments:
        headline("pytest")
        become(tool("pytest"), *arguments)
    again = [name for chosen in (*PARALLEL, ALONE) for name in run_tests(*chosen)]
    if again:
        headline("failed at first, and passed alone")
        print(
            *again, "Each of them is a defect, of the test or of what it tests: please report it.", sep="\n", flush=True
        )


def run_tests(*chosen: str) -> list[str]:
    """Run tests, and those few that fail once more alone; return these. Exit if one fails again."""
    headline(" ".join(["pytest", *chosen]))
    cache = ["-o", f"cache_dir={LAST_FAILED}"]
    code = subprocess.call([tool("pytest"), *cache, "--cache-clear", *chosen])
    failed = last_failed() if code == SOME_FAILED else []
    if failed and len(failed) <= AGAIN:
        step("pytest", *cache, *failed)
    elif code != 0:
        sys.exit(code)
    return failed


def last_failed() -> list[str]:
    """Return the names of the tests that failed in the last run."""
    found = LAST_FAILED / "v" / "cache" / "lastfailed"
    return sorted(json.loads(found.read_text(encoding="utf-8"))) if found.exists() else []


def check(_: list[str]) -> None:
    """Lint, types and layers only."""
    prepare("dev")
    for name, *arguments in CHECKS + api_check():
        step(name, *arguments)


def reformat(_: list[str]) -> None:
    """Format the code and mend what the linter can mend."""
    prepare("dev")
    step("ruff", "check", "--fix", ".")
    step("ruff", "format", ".")


def bench(arguments: list[str]) -> None:
    """Measure beside the raw engine and the peers; `bench --against REV` compares with another commit."""
    prepare("bench")
    become(python(), "-m", "bench", *arguments)


def crash(arguments: list[str]) -> None:
    """Kill and pause processes at random, then audit every job; `crash move` kills a move, `crash flow` audits flow control, `crash schedules` audits schedules."""
    prepare("dev")
    name, *rest = arguments if arguments[:1] in (["move"], ["flow"], ["schedules"]) else ["campaign", *arguments]
    become(python(), "-m", f"tests.crash.{name}", *rest)


def simulate(arguments: list[str]) -> None:
    """Run seeded simulations on a virtual clock."""
    prepare("dev")
    become(python(), "-m", "tests.simulation", *arguments)


def soak(arguments: list[str]) -> None:
    """Let real processes work for long, and see whether anything grows: `soak --engine sqlite --minutes 30`."""
    prepare("dev")
    become(python(), "-m", "tests.soak", *arguments)


def screenshots(arguments: list[str]) -> None:
    """Take the pictures of the dashboard that the docs show."""
    prepare("dev")
    become(python(), "-m", "tests.browser.screenshots", *arguments)


def example(arguments: list[str]) -> None:
    """Run one of the example systems whole: `example conversation_hook`; without a name, list them."""
    systems = {path.parent.name: title(path.parent) for path in sorted(ROOT.glob("examples/*/__main__.py"))}
    listed = "\n".join(
        ["usage: python3 dev.py example NAME", "", *(f"  {each:18} {text}" for each, text in systems.items())]
    )
    if not arguments or arguments[0] in ("-h", "--help"):
        print(listed)
        return
    name, *rest = arguments
    if name not in systems:
        sys.exit(f"dev.py: there is no example {name!r}\n\n{listed}")
    prepare("dev")
    become(python(), "-m", f"examples.{name}", *rest)


def title(folder: Path) -> str:
    """The heading of a folder's README."""
    return (folder / "README.md").read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


COMMANDS = {
    "demo": demo,
    "example": example,
    "test": test,
    "check": check,
    "format": reformat,
    "bench": bench,
    "crash": crash,
    "simulate": simulate,
    "soak": soak,
    "screenshots": screenshots,
    "setup": setup,
    "help": show_help,
}


# The virtual environment


def prepare(profile: str) -> None:
    """Make sure that .venv holds what a profile needs."""
    place = f"{sys.version} {ROOT}"
    if not (python().exists() and stamped("python", place)):
        headline("preparing .venv (only the first time)")
        make_venv()
        stamp("python", place)
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if stamped(profile, wanted) or (profile == "demo" and stamped("dev", wanted)):
        return
    headline(f"installing what {profile} needs (some minutes at most, only when pyproject.toml has changed)")
    install(PROFILES[profile])
    stamp(profile, wanted)


def make_venv() -> None:
    """An empty environment; a half-made or outdated one is cleared away."""
    if subprocess.call([sys.executable, "-m", "venv", "--clear", str(VENV)]) != 0:
        sys.exit(NO_VENV.format(venv=VENV))


def install(arguments: list[str]) -> None:
    """Install with pip; groups need a pip newer than the one many Pythons bring."""
    pip = [str(python()), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    wishes = [["pip>=25.1"], arguments] if "--group" in arguments else [arguments]
    if any(subprocess.call([*pip, *wish]) != 0 for wish in wishes):
        sys.exit(NO_INSTALL)


def stamped(name: str, value: str) -> bool:
    """Whether this part of .venv is finished and still current."""
    path = VENV / f"{name}.stamp"
    return path.exists() and path.read_text(encoding="utf-8") == value


def stamp(name: str, value: str) -> None:
    """Note that this part of .venv is finished."""
    (VENV / f"{name}.stamp").write_text(value, encoding="utf-8")


# Running tools


def python() -> Path:
    """The environment's interpreter."""
    return BIN / ("python.exe" if os.name == "nt" else "python")


def tool(name: str) -> str:
    """The path of an installed command."""
    path = shutil.which(name, path=str(BIN))
    return path or sys.exit(f"dev.py: {name} is not in .venv. To start afresh:  rm -r .venv  and run this again.")


def api_check() -> list[list[str]]:
    """The public API as users' type checkers see it, once there are files that use it."""
    if not any(ROOT.glob("tests/typing/*.py")):
        return []
    return [["mypy", "tests/typing"], ["basedpyright", "--pythonpath", str(python())]]


def step(name: str, *arguments: str) -> None:
    """Run a tool to its end; its failure is ours."""
    headline(" ".join([name, *arguments]))
    code = subprocess.call([tool(name), *arguments])
    if code != 0:
        sys.exit(code)


def become(*command: object) -> None:
    """Hand this process over to a tool, so that signals and the exit code are its own."""
    argv = [str(part) for part in command]
    if os.name == "nt":  # there, exec would return to the shell before the tool has ended
        sys.exit(subprocess.call(argv))
    os.execv(argv[0], argv)


def headline(text: str) -> None:
    """Say what comes next, before its own output."""
    print(f"\n=== {text}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
