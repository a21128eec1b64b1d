"""What an operator asks of a worker: read with its renewals, until it registers again. And the audit trail, page by page."""

import pytest

from mainstay import UsageError
from mainstay.core.job import Declaration
from tests.contract.building import LEASE, WORKER, worker


def asked(desk):
    return desk.store.renew(WORKER, desk.now, LEASE).wanted


def test_a_renewal_says_what_is_asked_of_the_worker(desk):
    assert asked(desk) is None
    assert desk.store.ask_worker(WORKER, "drain", desk.now, "ada")
    assert asked(desk) == asked(desk) == "drain"


def test_a_stop_is_not_turned_into_a_drain(desk):
    for what, then in (("drain", "drain"), ("stop", "stop"), ("drain", "stop")):
        desk.store.ask_worker(WORKER, what, desk.now, "ada")
        assert asked(desk) == then


def test_a_worker_that_registers_again_is_asked_nothing(desk):
    desk.store.ask_worker(WORKER, "stop", desk.now, "ada")
    desk.join()
    assert asked(desk) is None
    desk.store.ask_worker(WORKER, "stop", desk.now, "ada")
    desk.store.deregister(WORKER)
    desk.join()
    assert asked(desk) is None


def test_who_asked_is_on_record(desk):
    desk.store.ask_worker(WORKER, "drain", desk.now, "ada")
    (line,) = desk.store.actions(None, 9)
    assert line == (desk.now, "ada", "drain", None, {"worker": WORKER})


def test_nobody_asks_a_worker_that_is_not_there(desk):
    assert not desk.store.ask_worker("nobody", "stop", desk.now, "ada")
    desk.outlive()
    desk.store.orphans(desk.now, 0, 9)
    assert not desk.store.ask_worker(WORKER, "stop", desk.now, "ada")
    assert desk.store.actions(None, 9) == []


def test_a_nul_is_refused(desk):
    for who in ((WORKER, "a\0b"), ("a\0b", "ada")):
        with pytest.raises(UsageError, match="NUL"):
            desk.store.ask_worker(who[0], "stop", desk.now, who[1])
    assert asked(desk) is None


def test_what_one_worker_takes(desk):
    takes = Declaration("mail", 2, "mail()", "{}")
    desk.store.register(worker("other", desk.now), [takes])
    desk.store.register(worker("third", desk.now), [takes])
    desk.store.renew("other", desk.now, LEASE, stopping=True)
    assert desk.store.declarations(desk.now) == [takes]
    assert desk.store.declarations(desk.now, worker="other") == [takes]
    assert desk.store.declarations(desk.now, worker=WORKER) == []


# the audit trail ------------------------------------------------------------------------------------------------------
def test_the_audit_trail_is_read_page_by_page_newest_first(desk):
    for n in range(7):
        desk.store.set_setting("colour", str(n), None, desk.now + n, "ada")
    found, before = [], None
    while page := desk.store.audit(3, before):
        assert len(page) <= 3
        found += page
        before = page[-1][0]
    assert [action.at - desk.now for _, action in found] == [6, 5, 4, 3, 2, 1, 0]
    assert [number for number, _ in found] == sorted((number for number, _ in found), reverse=True)
    assert [action for _, action in found] == desk.store.actions(None, 99)


def test_lines_that_come_meanwhile_do_not_move_the_pages(desk):
    for n in range(4):
        desk.store.set_setting("colour", str(n), None, desk.now + n, "ada")
    first = desk.store.audit(2)
    desk.store.set_setting("colour", "9", None, desk.now + 9, "ada")
    second = desk.store.audit(2, first[-1][0])
    assert [action.at - desk.now for _, action in first + second] == [3, 2, 1, 0]
