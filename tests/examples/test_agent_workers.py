"""The system of agents: consolidation by its algorithm, and the defaults, limits and schedules of its design record."""

import json
import threading
import uuid
from datetime import UTC, datetime

import numpy as np
import pytest

from examples.agent_workers.parts import reply
from mainstay import JobFailed
from mainstay.core import retry
from mainstay.testing import Trial
from tests.examples.agent_system import PATIENCE, consolidate, done, imported
from tests.waiting import eventually

pytestmark = pytest.mark.slow
MINUTE = 60_000
DEFAULTS = {  # priority, attempts, the first waits in seconds, the timeout in ms
    "memory-consolidation": (5, 3, [5, 10, 20], 5 * MINUTE),
    "embedding-batch": (10, 5, [2, 4, 8], MINUTE),
    "webhook-dispatch": (15, 10, [1, 2, 4], MINUTE // 2),
    "pattern-training": (1, 2, [60, 60, 60], 60 * MINUTE),
    "session-cleanup": (3, 3, [10, 20, 40], 2 * MINUTE),
}
LIMITS = {"memory-consolidation": (5, 10), "embedding-batch": (3, 5), "webhook-dispatch": (20, 100)}
FACT = "They say the same."


@pytest.fixture(autouse=True)
def real_model(agents):
    """The model answers for itself unless a test plays others."""
    agents.model.play({}, then="model")
    agents.model.requests.clear()


@pytest.fixture
def episodes(agents, tenant):
    """Seven memories in four groups, of which the first has three and the second two: their ids."""
    with agents.database.transaction() as db:
        groups = agents.sample_data.add_episodes(db, tenant, "ana", tenant)
    return [id for group in groups for id in group]


def facts(agents, job):
    """The memories that a job has made, those of more sources first, with their metadata parsed."""
    found = [dict(row) for row in agents.database.rows("SELECT * FROM memories WHERE source_id = ?", job.id)]
    made = [row | {"metadata": json.loads(row["metadata"])} for row in found]
    return sorted(made, key=lambda row: -len(row["metadata"]["source_memory_ids"]))


def importance(agents, ids):
    found = dict(agents.database.rows("SELECT id, importance FROM memories"))
    return [round(found[id], 6) for id in ids]


# defaults and limits --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", DEFAULTS)
def test_a_type_has_the_defaults_of_the_record(agents, name):
    policy = next(each for each in agents.jobs.TYPES if each.name == name).info(0).policy
    waits = [retry.wait(policy["backoff"], attempt, float) // 1_000 for attempt in (1, 2, 3)]
    assert (policy["priority"], policy["max_attempts"], waits, policy["timeout"]) == DEFAULTS[name]


def spans(agents, jobs):
    for job in jobs:
        done(job)
    return [(each.started_at, each.ended_at) for job in jobs for each in agents.app.attempts(job)]


def at_once(found):
    """How many of these spans overlap, at most."""
    return max(sum(start <= moment < end for start, end in found) for moment, _ in found)


def test_no_more_consolidations_run_at_once_than_the_record_permits(agents, tenant, episodes):
    agents.model.play({}, then={"text": FACT, "after": 1.0})
    jobs = [consolidate(agents, tenant, episodes[3:5]) for _ in range(9)]
    assert at_once(spans(agents, jobs)) == LIMITS["memory-consolidation"][0]


def test_no_more_embeddings_run_at_once_than_the_record_permits(agents, tenant):
    most = LIMITS["embedding-batch"][0]
    with agents.database.transaction():  # nobody else writes meanwhile
        jobs = embeddings(agents, tenant, most + 4)
        eventually(lambda: running(agents, tenant) == most, f"{most} run", PATIENCE)
    assert at_once(spans(agents, jobs)) == most


def test_no_more_deliveries_run_at_once_than_the_record_permits(agents, tenant):
    most, go = LIMITS["webhook-dispatch"][0], threading.Event()
    agents.servers.hook.reply = lambda handler: (go.wait(PATIENCE), reply(200)(handler))
    agents.app.webhooks.add(agents.servers.url, "slow.*", id=tenant.replace("/", "-"))
    jobs = [agents.app.webhooks.send("slow.one", tenant=tenant)[0] for _ in range(most + 4)]
    eventually(lambda: running(agents, tenant) == most, f"{most} run", PATIENCE)
    go.set()
    assert at_once(spans(agents, jobs)) == most


def running(agents, tenant):
    return agents.app.bulk(f"state:running tenant:{tenant}").count()


def embeddings(agents, tenant, count):
    bound = agents.embeddings.embedding_batch.options(tenant=tenant)
    return [bound.enqueue([{"text": FACT}], "memories") for _ in range(count)]


@pytest.mark.parametrize("name", LIMITS)
def test_none_start_faster_than_the_record_permits(agents, tenant, name):
    rate = LIMITS[name][1]
    agents.servers.hook.reply = reply(200)
    if name == "memory-consolidation":
        jobs = [consolidate(agents, tenant, ["none"]) for _ in range(rate)]
    elif name == "webhook-dispatch":
        agents.app.webhooks.add(agents.servers.url, "quick.*", id=tenant.replace("/", "-"))
        jobs = agents.app.enqueue_many(
            each for _ in range(rate) for each in agents.app.webhooks.prepare("quick.one", tenant=tenant)
        )
    else:
        jobs = embeddings(agents, tenant, rate)
    starts = sorted(start for start, _ in spans(agents, jobs))
    assert (starts[-1] - starts[0]).total_seconds() >= (rate - 1) / rate * 0.99


def test_limits_and_searches_know_organisations_and_workspaces(agents, org):
    tenants = [f"{org}/{workspace}" for workspace in ("a", "b", "c") for _ in range(3)]
    agents.sample_data.fill(set(tenants), notes=300, sessions=0)
    jobs = [agents.maintenance.data_export.options(tenant=each).enqueue() for each in tenants]
    found = spans(agents, jobs)
    assert (at_once(found), at_once(found[:3])) == (2, 1)
    assert agents.app.bulk(f"tenant:{org}/*").count() == 9
    assert agents.app.bulk(f"tenant:{org}/b").count() == 3


# consolidation --------------------------------------------------------------------------------------------------------
def test_fewer_than_two_memories_are_insufficient(agents, tenant, episodes):
    wanted = {"consolidated": False, "reason": "insufficient_memories"}
    assert done(consolidate(agents, tenant, episodes[:1])) == wanted
    assert done(consolidate(agents, f"{tenant}2", episodes)) == wanted  # the memories of another workspace are not seen
    others = agents.memories.memory_consolidation.options(tenant=tenant).enqueue("main", "ben", episodes, "merge")
    assert done(others) == wanted
    with pytest.raises(JobFailed, match="merge or summarize"):
        done(consolidate(agents, tenant, episodes, consolidation_type="both"))
    foreign = agents.memories.memory_consolidation.options(tenant=tenant).enqueue("other", "ana", episodes)
    with pytest.raises(JobFailed, match="give both the same"):
        done(foreign)


def test_a_busy_model_costs_no_attempt(agents, tenant, episodes):
    agents.model.play([{"status": 429, "retry_after": 1}], then=FACT)
    job = consolidate(agents, tenant, episodes[:3])
    assert (done(job)["memories_created"], job.job().attempt) == (1, 1)
    assert len(agents.model.requests) == 2


def test_progress_goes_through_four_phases_and_the_result_counts(agents, tenant, episodes):
    agents.model.play({}, then=FACT)
    trial = Trial(agents.memories.memory_consolidation, tenant=tenant)
    assert trial.run("main", "ana", episodes) == {
        "consolidated": True, "clusters_processed": 4, "memories_created": 2, "source_memories_processed": 7,
    }  # fmt: skip
    assert [(json.loads(each.details)["phase"], each.done) for each in trial.progress] == [
        ("analyzing", 0.1), ("generating", 0.4), ("indexing", 0.8), ("complete", 1.0),
    ]  # fmt: skip


def planted(agents, tenant, angles):
    """Memories whose vectors are so many degrees from the first; their ids."""
    with agents.database.transaction() as db:
        for number, angle in enumerate(angles):
            id, vector = f"{tenant}-{number}", np.zeros(256)
            vector[:2] = np.cos(np.radians(angle)), np.sin(np.radians(angle))
            agents.sample_data.add_memory(db, tenant, id, f"memory {number}", user="ana", embedding_id=id)
            db.execute("INSERT INTO memory_vectors (id, vector) VALUES (?, ?)", (id, json.dumps(vector.tolist())))
    return [f"{tenant}-{number}" for number in range(len(angles))]


def test_clusters_form_around_their_first_memory_above_the_threshold(agents, tenant):
    agents.model.play({}, then=FACT)
    # cos 36.8° is 0.8007 and cos 37° is 0.7986. The third is near the second, but not near the first; the last is alone.
    ids = planted(agents, tenant, [0, 36.8, 37, 73, 180])
    job = consolidate(agents, tenant, ids, similarity=0.8)
    assert done(job)["clusters_processed"] == 3
    sources = [each["metadata"]["source_memory_ids"] for each in facts(agents, job)]
    assert sorted(sources) == [ids[:2], ids[2:4]]
    narrow = done(consolidate(agents, tenant, ids, similarity=0.9999))
    assert (narrow["clusters_processed"], narrow["memories_created"]) == (4, 1)  # 36.8° and 37° are the same then


def test_the_threshold_is_0_8_unless_the_embedder_needs_another(agents, monkeypatch, tmp_path):
    assert agents.memories.SIMILARITY == 0.65
    monkeypatch.delenv("AGENT_SIMILARITY")
    with imported(AGENT_DATA=tmp_path, MAINSTAY_URL="sqlite:///:memory:") as plain:
        assert plain.memories.SIMILARITY == 0.8


def test_a_real_model_writes_one_fact_of_each_cluster(agents, tenant, episodes):
    job = consolidate(agents, tenant, episodes)
    done(job)
    three, two = facts(agents, job)
    contents = {three["content"], two["content"]}  # whatever a small model makes of them at this temperature
    assert len(contents) == 2
    assert all(len(each) > 10 and each == each.strip() for each in contents)
    assert (three["importance"], three["metadata"]["synthesis_confidence"]) == (pytest.approx(0.6), 0.9)
    assert (two["importance"], two["metadata"]["synthesis_confidence"]) == (pytest.approx(0.5), 0.7)
    asked = [json.loads(each) for each in agents.model.requests]
    assert [(each["max_completion_tokens"], each["temperature"]) for each in asked] == [(200, 0.3)] * 2
    assert "1. Anna prefers tea in the morning.\n2. Anna likes" in asked[0]["messages"][0]["content"]


def test_a_fact_is_stored_once_under_an_id_of_the_job_and_the_cluster(agents, tenant, episodes):
    agents.model.play({"Anna": [FACT], "Windows": [500, FACT]})
    job = consolidate(agents, tenant, episodes)
    fails_once(agents, job)
    assert len(facts(agents, job)) == 1
    agents.app.bulk(ids=[job.id]).reschedule(delay=0)
    assert (done(job)["memories_created"], job.job().attempt) == (2, 2)
    assert agents.model.asked("Anna") == 1  # the cluster that was done is not asked about again
    firsts = (episodes[0], episodes[3])
    for fact, first in zip(facts(agents, job), firsts, strict=True):
        assert fact["id"] == str(uuid.uuid5(agents.memories.IDS, f"{job.id}:{first}"))
        assert (fact["type"], fact["source_type"], fact["source_id"]) == ("semantic", "consolidation", job.id)
        assert (fact["metadata"]["consolidation_type"], fact["user"]) == ("merge", "ana")
    assert facts(agents, job)[0]["metadata"]["source_memory_ids"] == episodes[:3]


def test_merging_halves_the_importance_of_the_sources_once(agents, tenant, episodes):
    agents.model.play({"Anna": [FACT], "Windows": [500, FACT]}, then=FACT)
    job = consolidate(agents, tenant, episodes)
    fails_once(agents, job)
    assert importance(agents, episodes) == [0.2, 0.25, 0.3, 0.4, 0.5, 0.4, 0.4]
    agents.app.bulk(ids=[job.id]).reschedule(delay=0)
    done(job)
    assert importance(agents, episodes) == [0.2, 0.25, 0.3, 0.2, 0.25, 0.4, 0.4]
    done(consolidate(agents, tenant, episodes, consolidation_type="summarize"))
    assert importance(agents, episodes) == [0.2, 0.25, 0.3, 0.2, 0.25, 0.4, 0.4]


def test_new_facts_are_in_the_index(agents, tenant, episodes):
    agents.model.play({"Anna": ["Anna is fond of tea."], "Windows": ["Windows builds are broken."]})
    job = consolidate(agents, tenant, episodes)
    done(job)
    for fact in facts(agents, job):
        (vector,) = agents.embeddings.vectors_of([fact["content"]])
        assert agents.index.search("memories", vector, 1)[0][0] == fact["embedding_id"]


def fails_once(agents, job):
    """Wait until the first attempt has failed."""
    eventually(lambda: len(agents.app.attempts(job)) == 1 and job.state == "scheduled", "an attempt fails", PATIENCE)


# schedules ------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def day(tmp_path_factory):
    """A day of the schedules on a clock of the test: the jobs that they made, by schedule, and the modules."""
    folder = tmp_path_factory.mktemp("day")
    with imported(AGENT_DATA=folder, MAINSTAY_URL="sqlite:///:memory:", AGENT_MODEL="http://127.0.0.1:9") as modules:
        app, made = modules.jobs.app, modules.sample_data
        with app.testing() as kit:
            kit.clock.move_to(round(datetime(2026, 6, 1, 0, 0, 30, tzinfo=UTC).timestamp() * 1000))
            modules.database.connect().close()
            made.fill(["acme/a"], notes=120, sessions=4)
            embed_all_in(kit, modules)
            made_jobs = [
                modules.learning.trajectory_process.prepare(each) for each in made.trajectories("routing", 300)
            ]
            app.enqueue_many(made_jobs)
            modules.memories.memory_cleanup.enqueue()
            kit.drain()
            kit.advance("1d")
            kit.drain()
            names = [each.name for each in app.schedules()]
            modules.ran = {name: app.list(f"schedule:{name}", limit=200) for name in names}
            modules.results = {name: [job.result for job in jobs] for name, jobs in modules.ran.items()}
            yield modules


def embed_all_in(kit, modules):
    items = modules.embeddings.items_of(modules.embeddings.unembedded("acme/a"))
    modules.embeddings.embedding_batch.enqueue(items, "memories", "memories", "embedding_id")
    kit.drain()


def fired(day, name, count, arguments):
    jobs = day.ran[name]
    assert len({job.tick for job in jobs}) == len(jobs) == count
    assert all((job.state, job.args) == ("completed", arguments) for job in jobs)
    return sorted(job.tick for job in jobs)


def test_sessions_are_cleaned_every_15_minutes(day):
    ticks = fired(day, "session-cleanup", 96, {"max_age_hours": 24})
    assert {tick.minute for tick in ticks} == {0, 15, 30, 45}
    assert sum(each["expired"] for each in day.results["session-cleanup"]) == 2
    assert day.database.value("SELECT count(*) FROM sessions WHERE state = 'archived'") == 2


def test_importance_decays_every_6_hours(day):
    ticks = fired(day, "memory-importance-decay", 4, {"decay_factor": 0.99})
    assert [tick.hour for tick in ticks] == [6, 12, 18, 0]
    kept = day.database.value("SELECT importance FROM memories WHERE id = 'acme/a-note-0000'")
    assert kept == pytest.approx(0.6 * 0.99**4)


def test_the_index_is_optimised_at_3(day):
    (tick,) = fired(day, "index-optimization", 1, {"threshold": 0.8})
    assert (tick.hour, tick.minute) == (3, 0)
    assert day.results["index-optimization"] == [{"rebuilt": True, "live": 60, "share": 0.5}]


def test_the_pattern_is_trained_at_4(day):
    (tick,) = fired(day, "pattern-training-daily", 1, {"batch_size": 1000, "epochs": 5})
    assert (tick.hour, tick.minute) == (4, 0)
    assert day.results["pattern-training-daily"][0]["accuracy"] > 0.9


def test_quotas_are_checked_every_hour(day):
    ticks = fired(day, "quota-check", 24, {})
    assert sorted(tick.hour for tick in ticks) == list(range(24))
    assert day.results["quota-check"][0] == {"checked": 1, "above": []}
