"""The system of agents with a worker in this process, and an organisation of each test's own."""

import random

import pytest

from tests.examples.agent_system import system


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    """The modules of the application, its servers and a worker, on Valkey; its model is the real one unless a test plays others."""
    pytest.importorskip("wordllama", reason="wordllama has no wheel for this machine")
    with system(tmp_path_factory.mktemp("agents")) as found, found.app.worker(concurrency=30):
        yield found


@pytest.fixture
def org():
    return f"org{random.SystemRandom().randrange(1 << 40)}"


@pytest.fixture
def tenant(org):
    return f"{org}/main"
