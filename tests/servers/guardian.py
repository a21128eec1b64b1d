"""The parent of a server: ends it, and removes its folder, as soon as the process that wanted it is gone, however that died.

Run as a program: `guardian.py ALIVE FOLDER SIGNAL USER PROGRAM …`. The owner holds a lock on the file ALIVE for as long as it
lives, and the kernel lets go of a dead process's locks. A SIGTERM ends the server too, and leaves its folder for a restart.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

PATIENCE = 5.0  # seconds before a server that was asked to end is killed


def main(alive, folder, ending, user, *program):
    """Start the server, and wait for its end, for a SIGTERM, or for the owner's end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    as_user = {"user": user, "group": Path(folder).stat().st_gid, "extra_groups": []} if user else {}
    with Path(folder, "log").open("ab") as log:
        server = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, **as_user)
    Path(folder, "pid.new").write_text(str(server.pid), encoding="ascii")
    Path(folder, "pid.new").replace(Path(folder, "pid"))
    ending_it = threading.Event()
    threading.Thread(target=follow, args=(server, ending_it, Path(folder, "pid")), daemon=True).start()
    try:
        with Path(alive).open("ab") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)  # the owner is gone
    finally:
        ending_it.set()
        end(server, getattr(signal, ending))
    clear(Path(folder))


def follow(server, ending_it, pid):
    """A server that ended by itself takes its guardian along."""
    code = server.wait()
    if not ending_it.is_set():
        pid.unlink(missing_ok=True)
        os._exit(0 if code == 0 else 1)


def end(server, ending):
    """Ask the server to end, then make it."""
    server.send_signal(ending)
    try:
        server.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def clear(folder):
    """Remove the server's folder; the last one removes the session's."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        if not any(folder.parent.glob("*/pid")):
            shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main(*sys.argv[1:])
