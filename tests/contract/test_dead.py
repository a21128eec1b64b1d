"""Dead jobs and their fingerprints: written with the death, counted, searched, filled in later, and moved, on every engine."""

from mainstay.core.dead import grouped, since
from mainstay.core.events import Events
from mainstay.core.fingerprint import fingerprint, of_reason, print_of
from mainstay.core.job import Rule
from mainstay.core.outcome import Outcome
from mainstay.query import parse
from mainstay.stores.move import move
from mainstay.upkeep.triage import Triage
from tests.contract.building import FINAL, REVIEW, draft, keyed, transition
from tests.contract.moving import silent
from tests.contract.ruled import after

TRACE = 'Traceback (most recent call last):\n  File "/srv/shop/jobs.py", line {}, in pay\n    raise\nValueError: {}\n'
CAP = 100_000


def died(message="no account 7", line=3):
    return Outcome("failed", f"ValueError: {message}", TRACE.format(line, message), retry=False, reason="permanent")


def kill(desk, outcome=FINAL, **given):
    """The id of a job that died of this."""
    job = desk.run(**given)
    assert desk.end(job, outcome) == "stored"
    return job.id


def groups(desk):
    """The groups of dead jobs: how many have each fingerprint."""
    return {group.fingerprint: group.jobs for group in grouped(desk.store.dead_counts(since(desk.now), CAP))}


def found(desk, text):
    return set(desk.store.search(parse(text, desk.now), 50, None, desk.now).ids)


def test_jobs_that_die_of_the_same_error_have_the_same_fingerprint(desk):
    one, other, third = kill(desk, died("no account 7")), kill(desk, died("no account 8", 4)), kill(desk, FINAL)
    prints = {job: desk.job(job).fingerprint for job in (one, other, third)}
    assert prints[one] == prints[other] == fingerprint("work", "ValueError: no account 99", TRACE.format(1, ""), None)
    assert groups(desk) == {prints[one]: 2, prints[third]: 1}


def test_a_group_knows_its_hours_its_first_and_last_death_and_a_sample(desk):
    first = desk.now
    kill(desk)
    desk.clock.advance("30h")
    desk.join()
    kill(desk)
    desk.clock.advance("2h")
    desk.join()
    newest = kill(desk)
    (group,) = grouped(desk.store.dead_counts(since(desk.now), CAP))
    assert (group.first, group.last, group.sample, group.jobs) == (first, desk.now, newest, 3)
    assert group.hours == (*[0] * 21, 1, 0, 1)


def test_only_the_last_deaths_are_read(desk):
    kill(desk, died())
    desk.clock.advance(1)
    last = kill(desk)
    (count,) = desk.store.dead_counts(0, 1)
    assert count.sample == last


def test_a_job_that_is_retried_leaves_its_group_and_returns_when_it_dies_again(desk):
    job = kill(desk)
    (name,) = groups(desk)
    desk.store.retry([job], desk.now, "me")
    assert groups(desk) == {}
    assert found(desk, f"fingerprint:{name}") == set()
    assert desk.end(desk.take_this(job), died()) == "stored"
    assert groups(desk) == {fingerprint("work", "ValueError: no account 1", TRACE.format(1, ""), None): 1}


def test_a_deleted_job_leaves_its_group(desk):
    job, other = kill(desk), kill(desk)
    desk.store.delete([job], desk.now, "me")
    assert groups(desk) == {desk.job(other).fingerprint: 1}


def test_a_pruned_job_leaves_its_group(desk):
    kill(desk, keep_dead=10)
    desk.clock.advance(11)
    assert desk.store.prune(desk.now, 10) == 1
    assert groups(desk) == {}


def test_a_rejected_review_is_grouped_by_its_note(desk):
    jobs = [desk.bring("review"), desk.bring("review")]
    for n, job in enumerate(jobs):
        desk.store.resolve_review(job, False, desk.now, "ada", f"invoice {n} is wrong")
    assert groups(desk) == {of_reason("work", "invoice 3 is wrong"): 2}


def test_a_child_of_a_parent_that_died_is_grouped_by_that(desk):
    parent = desk.run(type="work")
    child = desk.send(after(parent.id, then="dead"))
    desk.end(parent, FINAL)
    desk.store.admit(desk.now, 10)
    assert desk.state(child) == "dead"
    assert desk.job(child).fingerprint == of_reason("work", f"its parent {parent.id} is dead")


def test_a_search_finds_a_group_by_the_beginning_of_its_fingerprint(desk):
    job, other = kill(desk, died()), kill(desk)
    desk.add()
    name, short = desk.job(job).fingerprint, desk.job(other).fingerprint[:5]
    assert found(desk, f"fingerprint:{name}") == {job}
    assert found(desk, f"fingerprint:{name.upper()[:6]}") == {job}
    assert found(desk, f"fingerprint:{name},{short}") == {job, other}
    assert found(desk, f"state:dead -fingerprint:{short}") == {job}
    assert desk.store.count(parse(f"fingerprint:{name} type:work", desk.now), desk.now) == {"work": 1}


def test_an_action_on_a_group_leaves_a_job_alone_that_has_left_it(desk):
    job = kill(desk)
    terms = parse(f"fingerprint:{desk.job(job).fingerprint}", desk.now)
    desk.store.retry([job], desk.now, "me")
    assert desk.store.delete([job], desk.now, "me", terms) == {job: "unmatched"}


def test_jobs_that_died_under_an_older_version_get_their_fingerprint_later(desk):
    old = desk.run()
    desk.store.finish([transition(old, FINAL, desk.now)._replace(fingerprint=None)])
    desk.clock.advance(5)
    kill(desk)
    assert desk.store.unprinted(0, 10) == [old.id]
    assert desk.store.unprinted(desk.now, 10) == []
    assert None in groups(desk)
    assert desk.store.set_fingerprints({old.id: "abc", "01" * 13: "abc"}) == 1
    assert desk.store.set_fingerprints({old.id: "def"}) == 0
    assert desk.job(old.id).fingerprint == "abc"


def test_no_other_job_gets_a_fingerprint(desk):
    waiting = desk.add()
    assert desk.store.set_fingerprints({waiting: "abc"}) == 0
    assert desk.job(waiting).fingerprint is None


def test_groups_and_what_was_decided_about_them_move(desk, target):
    job = kill(desk)
    desk.store.retry([kill(desk, died())], desk.now, "me")
    desk.store.set_rule(Rule("triage", desk.job(job).fingerprint, {"status": "ignored"}, "ada", desk.now, "known"))
    desk.store.deregister("w-first")
    move(desk.store, target, silent)
    assert target.dead_counts(0, CAP) == desk.store.dead_counts(0, CAP)
    assert target.rules(["triage"]) == desk.store.rules(["triage"])


def test_what_is_decided_about_a_group_holds_no_job_back(desk):
    desk.store.set_rule(Rule("triage", "abc", {"status": "resolved"}, "ada", desk.now, "fixed"))
    desk.store.enqueue([draft(), keyed()], desk.now)
    assert len(desk.take(5)) == 2
    (line,) = desk.store.actions(None, 5)
    assert (line.actor, line.detail["after"], line.detail["reason"]) == ("ada", {"status": "resolved"}, "fixed")


def test_a_review_that_nobody_decides_is_grouped(desk):
    job = desk.run()
    desk.end(job, REVIEW)
    assert desk.store.resolve_review(job.id, None, desk.now, "deadline", "") == "expired"
    assert len(groups(desk)) == 1
    assert desk.job(job.id).fingerprint == of_reason("work", desk.job(job.id).reason)


def resolve(desk, name, status="resolved"):
    desk.store.set_rule(Rule("triage", name, {"status": status}, "ada", desk.now, "fixed"))


def test_the_chore_gives_old_dead_jobs_the_fingerprint_that_they_would_have(desk):
    job, parent = desk.run(), desk.run()
    desk.store.finish([transition(job, died(), desk.now)._replace(fingerprint=None)])
    child = desk.send(after(parent.id, then="dead"))
    desk.end(parent, FINAL)
    desk.store.admit(desk.now, 10)
    before = {id: desk.job(id).fingerprint for id in (parent.id, child)}
    chore = Triage(desk.store, Events())
    assert chore.step(desk.now) > 0
    assert desk.job(job.id).fingerprint == fingerprint("work", "ValueError: no account 1", TRACE.format(1, ""), None)
    assert {id: desk.job(id).fingerprint for id in before} == before
    assert {id: print_of(desk.job(id), desk.store.attempts(id)) for id in before} == before


def test_a_resolved_group_is_open_again_when_a_job_dies_of_it_and_one_process_says_so(desk):
    job, told, events = kill(desk), [], Events()
    events.on("dead_reopened", lambda **fields: told.append(fields))
    resolve(desk, desk.job(job).fingerprint)
    chores = [Triage(desk.store, events), Triage(desk.store, events)]
    assert [chore.step(desk.now) for chore in chores]
    assert not told
    desk.clock.advance(1)
    again = kill(desk)
    assert [chore.step(desk.now) for chore in chores]
    assert told == [{"fingerprint": desk.job(job).fingerprint, "type": "work", "job": again}]
    (rule,) = desk.store.rules(["triage"])
    assert (rule.value["status"], rule.actor) == ("open", "mainstay")
    assert desk.store.actions(None, 1)[0].actor == "mainstay"


def test_an_ignored_group_stays_ignored(desk):
    resolve(desk, desk.job(kill(desk)).fingerprint, "ignored")
    desk.clock.advance(1)
    kill(desk)
    Triage(desk.store, Events()).step(desk.now)
    assert [rule.value["status"] for rule in desk.store.rules(["triage"])] == ["ignored"]
