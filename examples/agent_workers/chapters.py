"""The chapters of the story, each checked as it goes. Imported once the servers run: the application reads their addresses."""

import json
import os
import signal
import threading
from collections import Counter

from examples.agent_workers import embeddings, index, learning, maintenance, memories, sessions
from examples.agent_workers.database import connect, rows, transaction, value
from examples.agent_workers.integrations import slack_sync
from examples.agent_workers.jobs import TYPES, app
from examples.agent_workers.parts import reply
from examples.agent_workers.sample_data import TENANTS, add_episodes, add_memory, fill, trajectories
from tests.waiting import eventually

PATIENCE = 90  # seconds
USER = "ana"


def until(condition, what, seconds=PATIENCE):
    return eventually(condition, what, seconds)


def start(story, servers):
    """Fill the store, register the receiver, and enqueue what takes its time: a message to a receiver that fails three times."""
    story.part("Two organisations with three workspaces arrive; jobs wait in Valkey")
    connect().close()
    fill()
    servers.hook.reply = reply(500, 503, 500, 200)
    app.webhooks.add(servers.url, "agent.*", id="receiver")
    (message,) = app.webhooks.send("agent.started", {"agent": "a-1"}, tenant="acme/support")
    story.check(f"{len(TYPES)} types, {value('SELECT count(*) FROM memories')} memories, one message", len(TYPES) == 18)
    return message


def embedded(story):
    """Every memory gets a vector, 32 at a time."""
    story.part("embedding-batch: texts become vectors of a real model, in batches of 32")
    handles = [
        embeddings.embedding_batch.options(tenant=tenant).enqueue(
            embeddings.items_of(embeddings.unembedded(tenant)), "memories", "memories", "embedding_id"
        )
        for tenant in TENANTS
    ]
    done = [handle.result(timeout=PATIENCE) for handle in handles]
    total = value("SELECT count(*) FROM memories")
    story.check(
        f"{total} vectors are stored, and their rows name them", sum(each["succeeded"] for each in done) == total
    )
    numbers = {row["number"] for row in rows("SELECT number FROM memory_vectors")}
    story.check("the HNSW index has the same vectors", index.keys("memories") == numbers)
    again = embeddings.embedding_reindex.enqueue().result(timeout=PATIENCE)
    story.check(f"embedding-reindex embeds all {again['embedded']} again", again["embedded"] == total)


def consolidated(story):
    """Episodes become knowledge: real embeddings, a real model."""
    story.part("memory-consolidation: what says the same becomes one fact")
    with transaction() as db:
        groups = add_episodes(db, "acme/support", USER, "episode")
    ids = [each for group in groups for each in group]
    job = memories.memory_consolidation.options(tenant="acme/support").enqueue("support", USER, ids)
    result = job.result(timeout=PATIENCE)
    story.check("of 7 memories in 4 groups 2 facts are made", tuple(result.values())[1:] == (4, 2, 7))
    facts = rows("SELECT * FROM memories WHERE source_id = ? ORDER BY importance DESC", job.id)
    for fact in facts:
        about = json.loads(fact["metadata"])
        print(f"    {len(about['source_memory_ids'])} memories: {fact['content'][:56]!r}")
    halved = dict(rows("SELECT id, importance FROM memories WHERE user = ? AND type = 'episodic'", USER))
    expected = [0.2, 0.25, 0.3, 0.2, 0.25, 0.4, 0.4]
    story.check("the importance of their sources is halved", [round(halved[each], 6) for each in ids] == expected)
    found = [id for id, _ in index.search("memories", embeddings.vectors_of([facts[0]["content"]])[0], 1)]
    story.check("the facts are in the index: a search finds them", found == [facts[0]["id"]])
    alone = memories.memory_consolidation.options(tenant="acme/support").enqueue("support", USER, ids[:1])
    story.check(
        "one memory alone: insufficient_memories", alone.result(timeout=PATIENCE)["reason"] == "insufficient_memories"
    )


def cared_for(story):
    """Old memories go, and the index is made smaller while it is searched."""
    story.part("memory-cleanup, memory-importance-decay; the index while it is searched")
    before = value("SELECT importance FROM memories WHERE id = 'globex/lab-note-0000'")
    memories.memory_importance_decay.enqueue().result(timeout=PATIENCE)
    after = value("SELECT importance FROM memories WHERE id = 'globex/lab-note-0000'")
    story.check(f"importance decays from {before:.3f} to {after:.3f}", abs(after - before * 0.99) < 1e-12)
    removed = memories.memory_cleanup.enqueue().result(timeout=PATIENCE)["removed"]
    story.check(f"{removed} memories that are old and hardly matter are removed", removed == 180)
    story.check("their places in the index are free, not gone", index.figures("memories")["removed"] == removed)
    with Searching() as searching:
        small = index.index_optimization.enqueue(threshold=0.8).result(timeout=PATIENCE)
        wide = index.index_rebalance.enqueue(connectivity=32).result(timeout=PATIENCE)
    story.check(f"index-optimization: {small['share']:.0%} were live, so it is rebuilt", small["rebuilt"])
    story.check(
        "index-rebalance: now with 32 connections", index.Index.restore(index.NAMESPACES["memories"]).connectivity == 32
    )
    story.check(
        f"{searching.count} searches meanwhile, none without its answer",
        searching.wrong == 0 and searching.count > 0 and wide["live"] == small["live"],
    )


class Searching:
    """Searches all the time, in a thread: for memories that are there, each of which must be found."""

    def __init__(self):
        found = rows("SELECT embedding_id, content FROM memories JOIN memory_vectors v ON v.id = embedding_id LIMIT 20")
        vectors = embeddings.vectors_of([row["content"] for row in found])
        self._wanted = [(row["embedding_id"], vector) for row, vector in zip(found, vectors, strict=True)]
        self.count, self.wrong, self._over = 0, 0, threading.Event()
        self._thread = threading.Thread(target=self._search)

    def _search(self):
        while not self._over.is_set():
            id, vector = self._wanted[self.count % len(self._wanted)]
            self.wrong += id not in [each for each, _ in index.search("memories", vector, 5)]
            self.count += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def learned(story):
    """A second task is learned, and EWC keeps the first."""
    story.part("trajectory-process, pattern-training, ewc-consolidation")
    for task in ("routing", "pricing"):
        app.enqueue_many(learning.trajectory_process.prepare(each) for each in trajectories(task, 1_000))
    until(lambda: value("SELECT count(*) FROM trajectories") == 2_000, "2,000 trajectories are processed")
    first = learning.pattern_training.enqueue(task="routing").result(timeout=PATIENCE)
    learning.ewc_consolidation.enqueue("routing").result(timeout=PATIENCE)
    second = learning.pattern_training.enqueue(task="pricing", batch_size=100, epochs=20).result(timeout=PATIENCE)
    kept = learning.accuracy("routing", learning.weights())
    story.check(f"the pattern tells {first['accuracy']:.0%} of routing", first["accuracy"] > 0.9)
    story.check(
        f"after it has learned pricing ({second['accuracy']:.0%}), still {kept:.0%} of routing",
        second["accuracy"] > 0.9 and kept > 0.9,
    )


def archived(story):
    """Sessions expire; each expired one is archived by a job of its own."""
    story.part("session-cleanup, session-archive")
    done = sessions.session_cleanup.enqueue().result(timeout=PATIENCE)
    until(lambda: value("SELECT count(*) FROM sessions WHERE state = 'archived'") == 6, "6 sessions are archived")
    files = [row["archive"] for row in rows("SELECT archive FROM sessions WHERE state = 'archived'")]
    story.check(f"{done['expired']} of 12 sessions had expired", done["expired"] == 6)
    story.check("each is a file with its 6 messages", [len(sessions.archived(name)) for name in files] == [6] * 6)
    story.check("and gone from the store", value("SELECT count(*) FROM messages") == 36)


def integrated(story, servers, message):
    """A receiver that fails three times, and Slack that is busy."""
    story.part("webhook-dispatch, slack-sync")
    servers.slack.busy = 2
    fetched = [slack_sync.options(tenant="acme/support").enqueue(each) for each in servers.slack.channels]
    counts = [handle.result(timeout=PATIENCE)["fetched"] for handle in fetched]
    spent = max(app.get(handle).attempt for handle in fetched)
    story.check(f"{sum(counts)} messages of Slack, each once", counts == list(servers.slack.channels.values()))
    story.check(
        f"{servers.slack.refused} times 429: waited as asked, no attempt spent",
        (servers.slack.refused, spent) == (2, 1),
    )
    message.result(timeout=PATIENCE)
    seen = [each.status for each in reversed(app.webhooks.deliveries("receiver"))]
    story.check(f"the receiver said {', '.join(map(str, seen))}", seen == [500, 503, 500, 200])
    ids = {each.headers["X-Delivery-Id"] for each in servers.hook.got}
    story.check("over TLS, signed, the same id each time", ids == {message.id})


def exported(story):
    """An export whose worker is killed in the middle goes on; a deletion leaves nothing."""
    story.part("data-export, killed half-way; data-deletion; quota-check; audit-export")
    with transaction() as db:
        for number in range(20_000):
            add_memory(db, "globex/lab", f"bulk-{number:05d}", f"measurement {number}")
    job = maintenance.data_export.options(tenant="globex/lab").enqueue()
    victim = until(lambda: _parts(job) >= 5 and app.get(job).worker, "the export is under way")
    os.kill(
        next(each.pid for each in app.workers() if each.id == victim), signal.SIGKILL
    )  # its supervisor starts another
    result = job.result(timeout=PATIENCE)
    found = maintenance.exported(result["file"])
    story.check(
        f"after a kill it goes on at part {result['resumed_at']} of {result['parts']}", result["resumed_at"] >= 5
    )
    ids = Counter(row["id"] for row in found["memories"])
    wanted = [row["id"] for row in rows("SELECT id FROM memories WHERE org = 'globex'")]
    story.check(f"the zip has all {len(wanted)} memories, each once", ids == Counter(wanted))
    deleted = maintenance.data_deletion.options(tenant="globex/lab").enqueue().result(timeout=PATIENCE)
    story.check(
        f"data-deletion: {sum(deleted['deleted'].values())} rows; nothing is left",
        not any(maintenance.remains("globex/lab").values()) and deleted["deleted"]["memories"] == len(wanted),
    )
    quota = maintenance.quota_check.enqueue().result(timeout=PATIENCE)
    story.check(f"quota-check: above its quota is {', '.join(quota['above'])}", quota["above"] == ["acme:memories"])
    trail = maintenance.audit_export.enqueue().result(timeout=PATIENCE)
    story.check(f"audit-export: {trail['lines']} lines, the hash holds", maintenance.verified(trail["file"]))


def _parts(job):
    return (app.get(job).details or {}).get("parts", 0)
