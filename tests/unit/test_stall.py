"""How long a process could not write to a SQLite file, as it knows it."""

from mainstay.stores.sqlite.connect import RENEWED, STALL, Stall


class Waiter:
    def __init__(self):
        self.now = 1_000.0
        self.stall = Stall(lambda: self.now)

    def wait(self, seconds):
        self.stall.wait_begins()
        self.now += seconds
        self.stall.wait_ends()


def test_a_long_wait_counts_until_every_worker_has_renewed_its_lease():
    waiter = Waiter()
    waiter.wait(STALL / 2)
    assert waiter.stall.ms() == 0
    waiter.wait(3)
    assert waiter.stall.ms() == 3_000
    waiter.now += RENEWED
    assert waiter.stall.ms() == 0


def test_waits_in_a_row_are_one():
    waiter = Waiter()
    waiter.wait(0)
    waiter.wait(3)
    waiter.now += STALL
    waiter.wait(2)
    assert waiter.stall.ms() == 5_500


def test_who_comes_during_a_long_write_does_not_know_when_it_began():
    """A worker that starts then must not take those for dead that have waited for longer."""
    waiter = Waiter()
    waiter.stall.wait_begins()
    waiter.now += 2 * STALL
    assert waiter.stall.ms() > 3_600_000
    waiter.stall.wait_ends()
    assert waiter.stall.ms() > 3_600_000
    waiter.now += RENEWED
    waiter.wait(3)
    assert waiter.stall.ms() == 3_000
