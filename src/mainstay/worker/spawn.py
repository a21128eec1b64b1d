"""Starts a module in an interpreter of its own, which finds the same modules and inherits nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

KEPT = "_MAINSTAY_PYTHONPATH"  # passes the original value of PYTHONPATH to the new process


def spawn(module: str, *arguments: str, **how: Any) -> subprocess.Popen[bytes]:
    """Start `python -m module …` in a process group of its own, out of the reach of the terminal's signals.

    A fresh interpreter, not a fork: it has no lock, connection or open file of this process.
    """
    command = [sys.executable, "-P", "-m", module, *arguments]
    return subprocess.Popen(command, env=_environment(), close_fds=True, process_group=0, **how)  # noqa: S603


def restore_path() -> None:
    """In the new process: search modules where the parent does, and restore PYTHONPATH for its own children."""
    kept = os.environ.pop(KEPT, None)
    if kept is None:
        return
    sys.path[:] = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    if kept:
        os.environ["PYTHONPATH"] = kept


def _environment() -> dict[str, str]:
    kept = os.environ.get("PYTHONPATH", "")
    return {**os.environ, KEPT: kept, "PYTHONPATH": os.pathsep.join(sys.path)}


def take_over(descriptor: int, stand_in: int | None = None) -> int:
    """Move a standard stream to another descriptor, which no child inherits, and put `stand_in` in its place."""
    private = os.dup(descriptor)
    replacement = os.open(os.devnull, os.O_RDWR) if stand_in is None else stand_in
    os.dup2(replacement, descriptor)
    if stand_in is None:
        os.close(replacement)
    return private
