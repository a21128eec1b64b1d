"""The 18 job types of the system of agents: what each of them does, with a worker on Valkey."""

import json
from collections import Counter

import numpy as np
import pytest
from standardwebhooks import Webhook

from examples.agent_workers.parts import reply
from mainstay import JobFailed
from mainstay.core.outcome import Stopping
from mainstay.testing import Trial
from tests.examples.agent_system import PATIENCE, done, embed_all
from tests.waiting import eventually

pytestmark = pytest.mark.slow
TYPES = {
    "memory-consolidation", "memory-cleanup", "memory-importance-decay", "embedding-batch", "embedding-reindex",
    "trajectory-process", "pattern-training", "ewc-consolidation", "session-cleanup", "session-archive",
    "index-optimization", "index-rebalance", "webhook-dispatch", "slack-sync", "quota-check", "audit-export",
    "data-export", "data-deletion",
}  # fmt: skip


def test_all_18_types_are_registered_by_the_names_of_the_record(agents):
    assert {each.name for each in agents.jobs.TYPES} == TYPES
    known = {each.name for each in eventually(agents.app.types, "the worker has registered its types")}
    assert known - TYPES == {"webhook_dispatch", "embedding-batch_rows"}  # an alias, and what the handler of texts adds


def test_cleanup_removes_what_is_old_and_hardly_matters_with_its_vectors(agents, org, tenant):
    agents.sample_data.fill([tenant], notes=20, sessions=0)
    embed_all(agents, tenant)
    assert done(agents.memories.memory_cleanup.options(tenant=org).enqueue()) == {"removed": 10}
    left = agents.database.rows("SELECT importance, embedding_id FROM memories WHERE org = ?", org)
    assert [row["importance"] for row in left] == [0.6] * 10
    stored = {row["number"] for row in agents.database.rows("SELECT number FROM memory_vectors")}
    assert agents.index.keys("memories") == stored
    assert done(agents.memories.memory_cleanup.options(tenant=org).enqueue()) == {"removed": 0}


def test_importance_decays_once_for_a_job_however_often_it_is_tried(agents, org, tenant):
    agents.sample_data.fill([tenant], notes=4, sessions=0)
    job = agents.memories.memory_importance_decay.options(tenant=org).enqueue()
    assert done(job) == {"decayed": 4}
    again = Trial(agents.memories.memory_importance_decay, tenant=org)
    again._context, context = (lambda: context), again._context()
    context.job = context.job._replace(id=job.id)  # a second attempt at the same job
    assert again.run() == {"decayed": 4}
    found = agents.database.rows("SELECT importance FROM memories WHERE org = ? ORDER BY id", org)
    assert [row[0] for row in found] == pytest.approx([0.594, 0.0495] * 2)


def test_texts_become_vectors_that_their_rows_name_and_the_index_has(agents, tenant):
    agents.sample_data.fill([tenant], notes=40, sessions=0)
    job = embed_all(agents, tenant)
    assert {name: done(job)[name] for name in ("total", "succeeded", "failed")} == {
        "total": 40,
        "succeeded": 40,
        "failed": 0,
    }
    assert agents.embeddings.unembedded(tenant) == []
    note = agents.database.rows("SELECT * FROM memories WHERE id = ?", f"{tenant}-note-0007")[0]
    (vector,) = agents.embeddings.vectors_of([note["content"]])
    ((nearest, cosine),) = agents.index.search("memories", vector, 1)
    assert cosine == pytest.approx(1, abs=1e-4)
    assert agents.database.value("SELECT content FROM memories WHERE embedding_id = ?", nearest) == note["content"]


def test_reindex_embeds_all_again_and_goes_on_where_the_last_attempt_stopped(agents, tenant):
    agents.sample_data.fill([tenant], notes=30, sessions=0)
    embed_all(agents, tenant)
    before = dict(agents.database.rows("SELECT id, vector FROM memory_vectors"))
    with agents.database.transaction() as db:  # another embedder has made these
        db.execute("UPDATE memory_vectors SET vector = (SELECT vector FROM memory_vectors ORDER BY number LIMIT 1)")
    trial = Trial(agents.embeddings.embedding_reindex, stopping=True)
    with pytest.raises(Stopping):
        trial.run(page=7)  # a worker that is told to stop leaves at the first checkpoint
    assert trial.saved["done"] == 7
    assert Trial(agents.embeddings.embedding_reindex, checkpoint=trial.saved).run()["embedded"] == len(before)
    after = dict(agents.database.rows("SELECT id, vector FROM memory_vectors"))
    assert after.keys() == before.keys()
    assert all(np.allclose(json.loads(after[id]), json.loads(before[id]), atol=1e-6) for id in before)


def test_a_second_task_is_learned_and_ewc_keeps_the_first(agents):
    learning, made = agents.learning, agents.sample_data.trajectories
    agents.app.enqueue_many(
        learning.trajectory_process.prepare(each) for each in made("routing", 600) + made("pricing", 600)
    )
    eventually(
        lambda: agents.database.value("SELECT count(*) FROM trajectories") == 1_200, "all are processed", PATIENCE
    )
    first = done(learning.pattern_training.enqueue(task="routing"))
    assert first["accuracy"] > 0.9
    untouched = learning.weights()
    held = done(learning.ewc_consolidation.enqueue("routing"))
    assert held["weights_held"] >= 6
    assert done(learning.pattern_training.enqueue(task="pricing", batch_size=100, epochs=20))["accuracy"] > 0.85
    assert learning.accuracy("routing", learning.weights()) > 0.9
    features, success = learning.samples("pricing")
    for _ in range(120):
        untouched = learning._step(untouched, features, success, [])
    assert learning.accuracy("routing", untouched) < 0.6  # the same without EWC has forgotten it


def test_a_bad_trajectory_fails_alone(agents):
    good, bad = agents.sample_data.trajectories("routing", 2, name="odd")
    bad["steps"] = [(99, 1.0)]
    jobs = agents.app.enqueue_many([agents.learning.trajectory_process.prepare(each) for each in (good, bad)])
    assert done(jobs[0]) == 12
    with pytest.raises(JobFailed, match="there is no tool 99"):
        done(jobs[1])
    assert agents.app.get(jobs[1]).attempt == 1


def test_old_sessions_expire_and_each_is_archived_whole(agents, org, tenant):
    agents.sample_data.fill([tenant], notes=0, sessions=6, messages=5)
    assert done(agents.sessions.session_cleanup.options(tenant=org).enqueue()) == {"expired": 3, "to_archive": 3}
    query = "SELECT state, count(*) FROM sessions WHERE org = ? GROUP BY state"
    eventually(
        lambda: dict(agents.database.rows(query, org)) == {"active": 3, "archived": 3}, "they are archived", PATIENCE
    )
    for row in agents.database.rows("SELECT * FROM sessions WHERE org = ? AND state = 'archived'", org):
        assert [each["text"] for each in agents.sessions.archived(row["archive"])] == [
            f"{row['id']} says {n}" for n in range(5)
        ]
        assert agents.database.value("SELECT count(*) FROM messages WHERE session = ?", row["id"]) == 0
    kept = agents.database.rows("SELECT id FROM sessions WHERE org = ? AND state = 'active'", org)[0]["id"]
    with pytest.raises(JobFailed, match="in use"):
        done(agents.sessions.session_archive.options(tenant=tenant).enqueue(kept))
    with pytest.raises(JobFailed, match="of another tenant"):
        done(agents.sessions.session_archive.options(tenant="other/main").enqueue(kept))


def test_the_index_is_optimised_and_rebalanced_while_it_is_searched(agents, org, tenant):
    agents.sample_data.fill([tenant], notes=400, sessions=0)
    embed_all(agents, tenant)
    done(agents.memories.memory_cleanup.options(tenant=org).enqueue())
    live = agents.database.value("SELECT count(*) FROM memory_vectors")
    with agents.chapters.Searching() as searching:
        assert not done(agents.index.index_optimization.enqueue(threshold=0.1))["rebuilt"]
        assert agents.index.figures("memories")["removed"] >= 200
        optimised = done(agents.index.index_optimization.enqueue(threshold=0.8))
        rebalanced = done(agents.index.index_rebalance.enqueue(connectivity=24))
    assert (optimised["rebuilt"], optimised["live"], rebalanced["live"]) == (True, live, live)
    assert agents.index.figures("memories") == {"live": live, "removed": 0}
    assert agents.index.Index.restore(agents.index.NAMESPACES["memories"]).connectivity == 24
    assert (searching.wrong, searching.count > 5) == (0, True)


def test_a_message_arrives_signed_over_tls_after_three_failures(agents, tenant):
    hook = agents.servers.hook
    hook.reply, before = reply(500, 503, 500, 200), len(hook.got)
    secret = agents.app.webhooks.add(agents.servers.url, "order.*", id=tenant.replace("/", "-")).secret
    (message,) = agents.app.webhooks.send("order.paid", {"id": 7}, tenant=tenant)
    for failures in (1, 2, 3):  # an operator does not wait for the backoff
        eventually(
            lambda n=failures: len(agents.app.attempts(message)) == n and message.state == "scheduled",
            "it fails",
            PATIENCE,
        )
        agents.app.bulk(ids=[message.id]).reschedule(delay=0)
    assert done(message)["status"] == 200
    got = hook.got[before:]
    assert {(each.headers["X-Delivery-Id"], each.body) for each in got} == {(message.id, got[0].body)}
    assert [Webhook(secret).verify(each.body, each.headers)["data"] for each in got] == [{"id": 7}] * 4
    assert agents.app.get(message).type == "webhook-dispatch"


def test_slack_is_fetched_page_by_page_and_429_costs_no_attempt(agents, tenant):
    slack = agents.servers.slack
    slack.channels[tenant], slack.busy, pages = 250, 2, slack.pages
    job = agents.integrations.slack_sync.options(tenant=tenant).enqueue(tenant)
    assert (done(job), job.job().attempt, slack.pages - pages) == ({"fetched": 250}, 1, 3)
    found = agents.database.rows("SELECT text FROM slack_messages WHERE channel = ? ORDER BY ts", tenant)
    assert [row["text"] for row in found] == [f"message {n}" for n in range(1, 251)]
    slack.channels[tenant] = 260
    assert done(agents.integrations.slack_sync.options(tenant=tenant).enqueue(tenant)) == {"fetched": 10}
    with pytest.raises(JobFailed, match="channel_not_found"):
        done(agents.integrations.slack_sync.enqueue("C-nowhere"))


def test_a_quota_that_is_exceeded_is_told_once_a_day(agents, org, tenant):
    agents.sample_data.fill([tenant], notes=12, sessions=0)
    with agents.database.transaction() as db:
        db.execute("UPDATE quotas SET most = 11 WHERE org = ?", (org,))
        db.execute("INSERT INTO quotas VALUES (?, 'bytes', 1000000)", (org,))
    agents.app.webhooks.add(agents.servers.url, "quota.*", id=org)
    agents.servers.hook.reply = reply(200)
    for _ in range(2):
        assert done(agents.maintenance.quota_check.enqueue(org)) == {"checked": 2, "above": [f"{org}:memories"]}
    (told,) = agents.app.list(f"type:webhook-dispatch tenant:{org}")
    assert told.args["payload"]["data"] == {"org": org, "kind": "memories", "used": 12, "quota": 11}


def test_the_export_of_the_audit_trail_shows_a_line_that_is_missing_or_changed(agents, tenant):
    for _ in range(3):
        done(agents.maintenance.data_export.options(tenant=tenant).enqueue())
    result = done(agents.maintenance.audit_export.enqueue())
    path = agents.maintenance.EXPORTS / result["file"]
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == result["lines"] >= 3
    assert agents.maintenance.verified(path.name)
    for wrong in ([*lines[:1], *lines[2:]], [lines[0].replace("tenant", "tenand"), *lines[1:]], lines[:-1]):
        path.write_text("".join(wrong))
        assert not agents.maintenance.verified(path.name)


def test_an_export_has_every_row_of_its_tenant_and_no_other(agents, org, tenant):
    agents.sample_data.fill([tenant, f"{org}/other"], notes=230, sessions=4, messages=3)
    result = done(agents.maintenance.data_export.options(tenant=tenant).enqueue())
    assert result["rows"] == {"slack_messages": 0, "messages": 12, "sessions": 4, "trajectories": 0, "memories": 230}
    found = agents.maintenance.exported(result["file"])
    assert Counter(row["id"] for row in found["memories"]) == Counter(f"{tenant}-note-{n:04d}" for n in range(230))
    whole = done(agents.maintenance.data_export.options(tenant=org).enqueue())
    assert whole["rows"]["memories"] == 460
    with pytest.raises(JobFailed, match="needs a tenant"):
        done(agents.maintenance.data_export.enqueue())


def test_a_deletion_leaves_nothing_of_its_tenant_and_everything_of_others(agents, org, tenant):
    other = f"{org}/other"
    agents.sample_data.fill([tenant, other], notes=130, sessions=4, messages=3)
    for each in (tenant, other):
        embed_all(agents, each)
    done(agents.sessions.session_cleanup.options(tenant=org).enqueue())
    eventually(lambda: agents.maintenance.remains(org)["files"] == 4, "the sessions are archived", PATIENCE)
    for each in (tenant, other, org):
        done(agents.maintenance.data_export.options(tenant=each).enqueue())
    result = done(agents.maintenance.data_deletion.options(tenant=tenant).enqueue())
    assert result == {
        "deleted": {"memories": 130, "messages": 6, "sessions": 4, "slack_messages": 0, "trajectories": 0}, "left": 0
    }  # fmt: skip
    assert set(agents.maintenance.remains(tenant).values()) == {0}
    left = agents.maintenance.remains(other)
    # The three are two archives and an export; that of the whole organisation, with data of both, is gone.
    assert (left["memories"], left["vectors"], left["files"]) == (130, 130, 3)
    for path in agents.database.PATH.parent.glob(
        "agents.db*"
    ):  # nor is it in free pages of the database, or in its log
        assert f"{tenant}-note".encode() not in path.read_bytes()
