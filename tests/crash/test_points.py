"""A process that dies at any step of a store operation leaves nothing that the next worker does not set right."""

import pytest

from tests.crash.points import VERBS, loop, verbs_of

pytestmark = pytest.mark.slow
SERVERS = [(server, verb) for server in ("postgres18", "valkey") for verb in verbs_of(server)]


@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_at_any_step_leaves_every_job_to_come_to_its_end(verb, tmp_path):
    found = loop(verb, tmp_path)
    assert found.findings == []
    assert found.kills >= 6  # at least BEGIN, a statement, COMMIT and the moment after it


@pytest.mark.parametrize(("server", "verb"), SERVERS)
def test_a_kill_at_any_step_of_the_conversation_with_a_server_does_so_too(server, verb, tmp_path):
    found = loop(verb, tmp_path, engine=server)
    assert found.findings == []
    assert found.kills >= 3  # at least before and after the request has passed, and before the answer has


def test_the_loop_catches_a_store_that_commits_piecemeal(tmp_path):
    assert loop("enqueue", tmp_path, broken="piecemeal").findings
