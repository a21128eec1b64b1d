"""What workers declare that they take, and the version that a payload keeps."""

from mainstay.core.clock import SECOND
from mainstay.core.job import Declaration
from tests.contract.building import LEASE, WORKER, draft, keyed, worker

ONE = Declaration("work", 1, "work(n: int)", '{"required": ["n"]}')
TWO = Declaration("work", 2, "work(n: int, m: int = 0)", '{"required": ["n"], "title": "é\u2028"}')
MAIL = Declaration("mail", 1, "mail()", "{}")


def test_workers_that_declare_the_same_are_counted_together(desk):
    for name, declared in {"a": [ONE, MAIL], "b": [MAIL, ONE], "c": [TWO]}.items():
        desk.store.register(worker(name, desk.now), declared)
    assert desk.store.declarations(desk.now) == [MAIL._replace(workers=2), ONE._replace(workers=2), TWO]
    assert desk.store.declarations(desk.now, "work") == [ONE._replace(workers=2), TWO]
    assert desk.store.declarations(desk.now, "unheard.of") == []


def test_a_worker_that_registers_again_declares_anew(desk):
    desk.store.register(worker("a", desk.now), [ONE, MAIL])
    desk.store.register(worker("a", desk.now), [TWO])
    assert desk.store.declarations(desk.now) == [TWO]


def test_a_worker_that_is_gone_expired_or_stopping_does_not_count(desk):
    for name in ("gone", "expired", "stopping"):
        desk.store.register(worker(name, desk.now, LEASE), [ONE])
    desk.store.deregister("gone")
    desk.store.renew("stopping", desk.now, 9 * LEASE, stopping=True)
    assert desk.store.declarations(desk.now) == [ONE]
    desk.outlive()
    assert desk.store.declarations(desk.now) == []
    desk.store.register(worker("a", desk.now), [TWO])
    assert desk.store.declarations(desk.now) == [TWO]


def test_a_payload_keeps_its_version(desk):
    ids = [desk.add(), desk.add(version=3), desk.add(version=2, tags=("version",), ref='{"version":9}')]
    assert [desk.job(id).version for id in ids] == [1, 3, 2]
    assert [job.version for job in desk.take(3)] == [1, 3, 2]
    assert [job.version for job in desk.store.claimed_by(WORKER)] == [1, 3, 2]
    desk.outlive()
    assert sorted(orphan.job.version for orphan in desk.store.orphans(desk.now, SECOND, 9)) == [1, 2, 3]


def test_a_replacement_brings_its_own_version(desk):
    first = desk.send(keyed(version=2))
    desk.store.enqueue([keyed(version=3, on_conflict="replace")], desk.now)
    assert desk.job(first).version == 3
    desk.store.enqueue([keyed(on_conflict="replace")], desk.now)
    assert desk.job(first).version == 1


def test_a_producer_without_the_code_follows_the_registered_version(desk):
    from mainstay.core.job import TypeInfo

    desk.store.register_types([TypeInfo("work", "default", "work()", {"version": 4}, desk.now)])
    assert desk.job(desk.send(draft(undeclared=()))).version == 4
