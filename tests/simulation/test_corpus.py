"""Seeds that once found a defect: what was fixed stays fixed."""

from pathlib import Path

import pytest

from tests.simulation.variants import VARIANTS
from tests.simulation.world import simulate

TEXT = (Path(__file__).parent / "corpus.txt").read_text(encoding="utf-8")
CORPUS = [line.split(maxsplit=2) for line in TEXT.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("seed", [int(seed) for seed, _, _ in CORPUS])
def test_what_was_fixed_stays_fixed(seed):
    assert simulate(seed).violations == []


def test_its_variants_exist():
    assert {variant for _, variant, _ in CORPUS} - {"-"} <= set(VARIANTS)
