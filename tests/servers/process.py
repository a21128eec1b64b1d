"""A server as a child that cannot outlive the session: start, stop, kill, restart."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

from tests.servers import guardian, session
from tests.waiting import eventually

PATIENCE = 30.0
_kept = []  # servers that run to the end of the session: Python complains of a child that is let go of


class Server:
    """One server in a folder of its own. Subclasses say what to run, and when it is up."""

    ending = "SIGKILL"  # what ends it when its owner is gone

    def __init__(self, folder=None, port=None):
        self.folder = Path(folder or tempfile.mkdtemp(prefix=f"{self.name}-", dir=session.folder()))
        self.port = port or free_port()
        self._guardian = None

    # for subclasses -----------------------------------------------------------------------------------------------
    name = "server"
    as_user = None  # whom it runs as; None: not root, "": the user who runs the tests

    def prepare(self):
        """Make the server's files; called once."""

    def program(self):
        """The command that runs the server."""
        raise NotImplementedError

    def ready(self):
        """Whether it answers."""
        raise NotImplementedError

    # life ---------------------------------------------------------------------------------------------------------
    def start(self):
        """Start, and wait until it answers."""
        if not (self.folder / "made").exists():
            session.give(self.folder)
            self.prepare()
            (self.folder / "made").touch()
        self.launch()
        eventually(self._up, f"{self.name} in {self.folder} answers", PATIENCE)
        return self

    def launch(self):
        """Start without waiting."""
        (self.folder / "pid").unlink(missing_ok=True)
        alive = session.folder() / session.ALIVE
        user = session.user() if self.as_user is None else self.as_user
        command = [sys.executable, "-ES", guardian.__file__, alive, self.folder, self.ending, user]
        self._guardian = subprocess.Popen(
            [*map(str, command), *map(str, self.program())], stdin=subprocess.DEVNULL, start_new_session=True
        )

    def _up(self):
        if self._guardian.poll() is not None:
            raise RuntimeError(f"{self.name} did not start:\n{self.log()[-3_000:]}")
        return (self.folder / "pid").exists() and self.ready()

    @property
    def pid(self):
        """The server's process."""
        return int((self.folder / "pid").read_text(encoding="ascii"))

    def signal(self, number):
        """Send a signal to the server."""
        os.kill(self.pid, number)

    def kill(self):
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self.gone()

    def gone(self):
        """Wait until the server has ended."""
        self._guardian.wait(PATIENCE)

    def restart(self, downtime=0.0):
        """Kill it, leave it down for a while, start it again on the same port and files."""
        self.kill()
        threading.Event().wait(downtime)
        self.start()

    def stop(self):
        """End it and remove its files."""
        self._guardian.terminate()
        self._guardian.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        """What the server said so far."""
        path = self.folder / "log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


PORTS = range(
    16_000, 32_000
)  # below those of outgoing connections, one of which could take a port while its server is down


def free_port(above=None):
    """Return a port that no other server of this session has; with `above`, the port so far above it is free too."""
    reserved = session.folder() / "ports"
    reserved.mkdir(exist_ok=True)
    for port in random.sample(PORTS, len(PORTS)):
        if all(_reserve(reserved, each) for each in (port, *([port + above] if above else []))):
            return port
    raise RuntimeError(f"no port from {PORTS.start:,} to {PORTS.stop:,} is free")


def _reserve(folder, port):
    try:
        (folder / str(port)).touch(exist_ok=False)
        with closing(socket.create_server(("127.0.0.1", port))):
            return port in PORTS
    except OSError:  # reserved, or in use by another program
        return False


def shared(make, name):
    """The session's one server of this name, started by whoever needs it first; all its processes use the same."""
    folder = session.folder() / name
    with session.turn(name):
        told = folder / "address"
        if not told.exists():
            folder.mkdir(exist_ok=True)
            server = make(folder).start()
            _kept.append(server)
            told.write_text(json.dumps({"port": server.port}), encoding="utf-8")
            return server
    return make(folder, json.loads(told.read_text(encoding="utf-8"))["port"])
