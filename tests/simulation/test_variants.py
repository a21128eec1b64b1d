"""Tests of the simulator itself: each known mistake, put into the real code, is seen within 200 seeds."""

import pytest

from mainstay.worker.worker import Worker
from tests.simulation.hardships import HARDSHIPS
from tests.simulation.patches import patched, statements
from tests.simulation.variants import VARIANTS
from tests.simulation.world import simulate

WITHIN = 200
ASKED = {
    "no_fence", "fence_on_attempt", "lease_by_worker_clock", "returned_unclaimed", "sweep_from_stale_read",
    "heart_stopped_before_drain", "deferred_transaction", "completed_early",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(300)  # some are seen late: 16 s of processor time
@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_a_known_mistake_is_seen(name):
    variant = VARIANTS[name]
    with variant.apply():
        for seed in range(WITHIN):
            if {violation.invariant for violation in simulate(seed, variant.only).violations} & variant.breaks:
                return
    pytest.fail(f"{name} ({variant.story.splitlines()[0]}) was not seen in {WITHIN} seeds")


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_a_variant_finds_what_it_changes(name):
    with VARIANTS[name].apply():
        pass


def test_a_variant_that_finds_nothing_to_change_fails():
    with pytest.raises(LookupError, match="has no such_name"), patched((Worker, "such_name", None)):
        pytest.fail("it was applied")
    with pytest.raises(LookupError, match="no longer says"), statements(finish=("no such text", "")):
        pytest.fail("it was applied")


def test_the_mistakes_of_the_field_are_among_them():
    assert set(VARIANTS) >= ASKED


def test_old_behaviours_are_among_them():
    assert len([variant for variant in VARIANTS.values() if variant.only in HARDSHIPS]) >= 8
