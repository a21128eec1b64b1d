"""The one table of moves: complete, closed, and the same from every side."""

from pathlib import Path

import pytest

from mainstay.core import states
from mainstay.core.states import ENDED, MOVES, RUNNING, STATES, WAITING

OPERATOR = {"retry by an operator"}


def test_the_table_speaks_only_of_states():
    assert {state for move in MOVES for state in move} == {*STATES, ""}
    assert not any(before == after for before, after in MOVES)


def test_every_state_can_be_reached_from_an_enqueue():
    reached, before = {""}, set()
    while reached != before:
        before, reached = reached, reached | {after for start, after in MOVES if start in reached}
    assert reached == {*STATES, ""}


def test_every_state_leads_to_an_end():
    assert all(ENDED & _reachable(state) for state in STATES)


def test_nothing_starts_after_completion():
    assert not [move for move in MOVES if move[0] == states.COMPLETED]


def test_ended_states_are_left_only_by_an_operator_and_only_to_run_again():
    leaving = {move: why for move, why in MOVES.items() if move[0] in ENDED}
    assert {why.partition(",")[0] for why in leaving.values()} == OPERATOR
    assert {after for _, after in leaving} == {states.QUEUED, states.BLOCKED, states.SCHEDULED}


def test_only_a_claim_makes_a_job_run():
    assert {before for before, after in MOVES if after == RUNNING} == {states.QUEUED, states.BLOCKED}
    assert all(why.startswith("claim") for (_, after), why in MOVES.items() if after == RUNNING)


def test_only_finishing_leaves_running():
    assert all(why.startswith("finish") for (before, _), why in MOVES.items() if before == RUNNING)
    assert {before for before, after in MOVES if after == states.DEAD} == {RUNNING, states.REVIEW, states.BLOCKED}


@pytest.mark.parametrize("state", sorted(WAITING))
def test_whatever_waits_can_be_cancelled(state):
    assert (state, states.CANCELLED) in MOVES


def test_the_kinds_of_states_do_not_overlap():
    assert not ENDED & WAITING
    assert set(STATES) == ENDED | WAITING | {RUNNING, states.REVIEW}
    assert len(set(STATES)) == len(STATES)


def test_the_diagram_shows_every_move_and_every_end():
    page = (Path(__file__).parents[2] / "docs/reference/states.md").read_text()  # generated from the table
    lines = page.partition("```mermaid\nstateDiagram-v2\n")[2].partition("\n```")[0].splitlines()
    assert len(lines) == len(MOVES) + len(ENDED)
    assert "    [*] --> queued: enqueue" in lines
    assert "    dead --> [*]" in lines


def _reachable(state):
    found, before = {state}, set()
    while found != before:
        before, found = found, found | {after for start, after in MOVES if start in found}
    return found
