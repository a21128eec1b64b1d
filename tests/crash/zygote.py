"""A process that has the package imported and forks workers and producers on command, in milliseconds each.

It is single-threaded and never opens a store, so that no child inherits a thread's lock or a connection. A killed child
stays a zombie until it is reaped by name: its pid cannot come back as someone else's before that.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[2]
WARM = ("mainstay.worker", "mainstay.stores", "mainstay.upkeep")  # packages, with all that is in them
ALSO = ("tests.crash.workload", "tests.crash.points", "asyncio")


class Zygote:
    """The caller's end: fork, reap, close."""

    def __init__(self, errors: Path, also: tuple[str, ...] = ()) -> None:
        command = [sys.executable, "-m", "tests.crash.zygote", *also]  # modules that its children find imported
        paths = os.pathsep.join(path for path in (str(ROOT), str(ROOT / "src"), *sys.path) if path)
        with errors.open("ab") as stderr:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True,
                env={**os.environ, "PYTHONPATH": paths},
            )  # fmt: skip

    def fork(self, role: str, **settings: Any) -> int:
        """Start `role` ("module:function") in a child of its own; answers the pid."""
        return self._ask({"fork": role, "settings": settings})

    def reap(self, pid: int) -> int:
        """Wait for a child's end and let its pid go; answers how it ended: its exit code, or minus the signal."""
        return self._ask({"reap": pid, "wait": True})

    def ended(self, pid: int) -> int | None:
        """How a child ended, or None while it lives; lets the pid go when it has ended."""
        return self._ask({"reap": pid, "wait": False})

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the zygote died: its errors are in the campaign's errors.log")
        return json.loads(line)

    def close(self) -> None:
        """End the zygote, and with it whatever it forked."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main() -> None:
    """Serve one request a line until the caller is gone; then take every child along."""
    for module in (*ALSO, *inside(WARM), *sys.argv[1:]):
        importlib.import_module(module)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until a child is ready to hear it: see `listening`
    children: set[int] = set()
    for line in sys.stdin:
        request = json.loads(line)
        answer = _fork(request, children) if "fork" in request else _reap(request, children)
        print(json.dumps(answer), flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def inside(packages: tuple[str, ...]) -> list[str]:
    """The modules of some packages."""
    roots = [importlib.import_module(name) for name in packages]
    return [found.name for root in roots for found in pkgutil.walk_packages(root.__path__, root.__name__ + ".")]


def _fork(request: dict[str, Any], children: set[int]) -> int:
    pid = os.fork()
    if pid == 0:
        _become(request["fork"], request["settings"])
    children.add(pid)
    return pid


def _become(role: str, settings: dict[str, Any]) -> None:
    code = 70
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        module, _, function = role.partition(":")
        code = getattr(importlib.import_module(module), function)(**settings) or 0
    except BaseException:  # noqa: BLE001 - whatever it is, it belongs into errors.log, and the child ends here
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def listening() -> None:
    """For a child that has set its signal handlers: be told now of a SIGTERM that came before."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _reap(request: dict[str, Any], children: set[int]) -> int | None:
    pid, status = os.waitpid(request["reap"], 0 if request["wait"] else os.WNOHANG)
    if pid == 0:
        return None
    children.discard(pid)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
