"""A process that dies at any step of a store operation leaves nothing that the next worker does not set right."""

import pytest

from tests.crash.points import VERBS, loop

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_at_any_step_leaves_every_job_to_come_to_its_end(verb, tmp_path):
    found = loop(verb, tmp_path)
    assert found.findings == []
    assert found.kills >= 6  # at least BEGIN, a statement, COMMIT and the moment after it


def test_the_loop_catches_a_store_that_commits_piecemeal(tmp_path):
    assert loop("enqueue", tmp_path, broken="piecemeal").findings
