"""Memories of agents: consolidation of episodes into knowledge, cleanup, and importance that decays."""

import asyncio
import json
import os
import time
import uuid

import numpy as np

from examples.agent_workers.application import app
from examples.agent_workers.database import audit, count, counts, marks, place, rows, scope, transaction
from examples.agent_workers.embeddings import vectors_of
from examples.agent_workers.index import catch_up
from mainstay import Limit, Permanent, Retry, ctx
from mainstay.handlers.prompt import Limited, Model

# 0.8 is right for the embedder of the design record. Similar sentences have a lower cosine with wordllama: AGENT_SIMILARITY says which.
SIMILARITY = float(os.environ.get("AGENT_SIMILARITY", "0.8"))
IDS = uuid.UUID("0f1b6f3a-52a6-4f0e-9f0c-7a5d5b1f3c20")  # the namespace of ids that are made from a job and a cluster
QUESTION = """Synthesize the following related memories into a single coherent fact or concept:

{memories}

Provide a concise synthesis that captures the key information."""
CHUNK = 500  # memories that one transaction removes or changes

model = Model(
    "openai", "local", base_url=os.environ.get("AGENT_MODEL", "http://127.0.0.1:8080") + "/v1",
    api_key=os.environ.get("AGENT_MODEL_KEY", "local"), max_tokens=200, temperature=0.3, timeout="60s",
)  # fmt: skip


# consolidation --------------------------------------------------------------------------------------------------------
@app.job(
    name="memory-consolidation",
    priority=5,
    retry=Retry(3, base="5s"),
    timeout="5m",
    limit=Limit(running=5, rate="10/s"),
)
async def memory_consolidation(
    workspace_id: str, user_id: str, memory_ids: list[str], consolidation_type: str = "merge", similarity: float = SIMILARITY
) -> dict[str, bool | str | int]:  # fmt: skip
    """Write one fact for each group of similar memories. With the type `merge`, the importance of the sources is halved."""
    _check(workspace_id, consolidation_type)
    memories = await asyncio.to_thread(loaded, workspace_id, user_id, memory_ids)
    if len(memories) < 2:
        return {"consolidated": False, "reason": "insufficient_memories"}
    ctx.progress(0.1, phase="analyzing")
    clusters = await asyncio.to_thread(clusters_of, memories, similarity)
    ctx.progress(0.4, phase="generating")
    created = 0
    for cluster in clusters:
        members = [
            memories[each] for each in cluster if each in memories
        ]  # one may be deleted since an earlier attempt
        if len(members) > 1:
            created += await _consolidated(cluster[0], members, consolidation_type)
            ctx.check()
    ctx.progress(0.8, phase="indexing")
    await asyncio.to_thread(catch_up, "memories")
    ctx.progress(1.0, phase="complete")
    return {
        "consolidated": True, "clusters_processed": len(clusters), "memories_created": created,
        "source_memories_processed": len(memories),
    }  # fmt: skip


def _check(workspace, kind):
    """Raise `Permanent` for a payload that no attempt can do."""
    if kind not in ("merge", "summarize"):
        raise Permanent(f"consolidation_type={kind!r:.40}: merge or summarize", code="type")
    if place(ctx.tenant)[1] != workspace:
        raise Permanent(
            f"the tenant is {ctx.tenant}, and workspace_id is {workspace!r:.80}: give both the same", code="tenant"
        )


def loaded(workspace, user, ids):
    """Return the memories of a user in a workspace by id, in the given order; those of others are not seen."""
    org, _ = place(ctx.tenant)
    query = f"SELECT * FROM memories WHERE org = ? AND workspace = ? AND user = ? AND id IN ({marks(ids)})"
    found = {row["id"]: row for row in rows(query, org, workspace, user, *ids)}
    return {each: found[each] for each in ids if each in found}


def clusters_of(memories, similarity):
    """Return groups of ids: what is more similar than this to the first of a group joins it. Those of an earlier attempt stay."""
    saved = ctx.checkpoint.get("clusters")
    if saved is not None:
        return saved
    vectors, ids = vectors_for(memories.values()), list(memories)
    clusters, assigned = [], set()
    for i, first in enumerate(ids):
        if first not in assigned:
            near = [ids[j] for j in range(i + 1, len(ids)) if vectors[i] @ vectors[j] > similarity]
            clusters.append([first, *(each for each in near if each not in assigned)])
            assigned.update(clusters[-1])
    ctx.save(clusters=clusters)
    return clusters


def vectors_for(memories):
    """Return the stored vector of each memory; one that has none yet is embedded now."""
    known = {
        row["id"]: json.loads(row["vector"])
        for row in rows(
            f"SELECT id, vector FROM memory_vectors WHERE id IN ({marks(memories)})",
            *(each["embedding_id"] for each in memories),
        )
    }
    found = [known.get(each["embedding_id"]) for each in memories]
    lacking = [each["content"] for each, vector in zip(memories, found, strict=True) if vector is None]
    fresh = iter(vectors_of(lacking) if lacking else ())
    vectors = np.array([next(fresh) if vector is None else vector for vector in found], dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


async def _consolidated(first, members, kind):
    """Store the fact of one group; return whether it is there. If an earlier attempt has stored it, the model is not asked again."""
    made = str(uuid.uuid5(IDS, f"{ctx.id}:{first}"))  # from the job and the cluster: the same on every attempt
    if await asyncio.to_thread(rows, "SELECT 1 FROM memories WHERE id = ?", made):
        return True
    content = await _synthesis(members)
    (vector,) = await asyncio.to_thread(vectors_of, [content])
    return await asyncio.to_thread(_stored, made, members, kind, content, [float(each) for each in vector])


async def _synthesis(members):
    listed = "\n".join(f"{number}. {each['content']}" for number, each in enumerate(members, 1))
    try:
        answer = await model.answer(QUESTION.format(memories=listed))
    except Limited as busy:
        await ctx.arate_limited(busy.retry_after, str(busy))
    return answer.text.strip()


def _stored(made, members, kind, content, vector):
    """Write the memory, its vector and the halved importance of its sources in one transaction, once; return whether it is there."""
    with transaction() as db:
        sources = [each["id"] for each in members]
        now = {row["id"]: row for row in db.execute(f"SELECT * FROM memories WHERE id IN ({marks(sources)})", sources)}
        if db.execute("SELECT 1 FROM memories WHERE id = ?", (made,)).fetchone():
            return True  # by another attempt
        if len(now) < len(sources):
            return False  # a source was deleted while the model was asked: what it said of it must not be kept
        confidence = 0.9 if len(members) >= 3 else 0.7
        about = {"source_memory_ids": sources, "consolidation_type": kind, "synthesis_confidence": confidence}
        importance = max(row["importance"] for row in now.values())
        first, at = members[0], time.time()
        db.execute(
            "INSERT INTO memories VALUES (?, ?, ?, ?, 'semantic', ?, ?, 'consolidation', ?, ?, ?, ?, ?)",
            (made, first["org"], first["workspace"], first["user"], content, importance, ctx.id, json.dumps(about), at, at, made),
        )  # fmt: skip
        where = json.dumps({"org": first["org"], "workspace": first["workspace"]})
        db.execute("INSERT INTO memory_vectors (id, vector, about) VALUES (?, ?, ?)", (made, json.dumps(vector), where))
        if kind == "merge":
            db.execute(f"UPDATE memories SET importance = importance * 0.5 WHERE id IN ({marks(sources)})", sources)
        audit(db, "memory.consolidated", made)
    return True


# care -----------------------------------------------------------------------------------------------------------------
@app.job(name="memory-cleanup", priority=3, retry=Retry(3, base="10s"), timeout="5m")
def memory_cleanup(min_importance: float = 0.1, max_age_days: float = 30.0) -> dict[str, int]:
    """Remove memories that are old and hardly matter, with their vectors; of the job's tenant, or of all."""
    condition, values = scope(ctx.tenant)
    old = time.time() - max_age_days * 86_400
    chosen = f"SELECT id FROM memories WHERE importance < ? AND accessed_at < ? AND {condition} LIMIT {CHUNK}"
    while found := [row["id"] for row in rows(chosen, min_importance, old, *values)]:
        with transaction() as db:
            count(db, "removed", forget(db, found))
        ctx.check()
    catch_up("memories")
    return {"removed": counts().get("removed", 0)}


def forget(db, ids):
    """Delete memories and their vectors; return how many memories there were."""
    listed = f"SELECT embedding_id FROM memories WHERE id IN ({marks(ids)})"
    db.execute(f"DELETE FROM memory_vectors WHERE id IN ({listed})", ids)
    return db.execute(f"DELETE FROM memories WHERE id IN ({marks(ids)})", ids).rowcount


@app.job(name="memory-importance-decay", priority=1, retry=Retry(3, base="10s"), timeout="5m")
def memory_importance_decay(decay_factor: float = 0.99) -> dict[str, int]:
    """Multiply the importance of every memory by a factor: exactly once for a job, as it is noted in the same transaction."""
    if not 0 < decay_factor <= 1:
        raise Permanent(f"decay_factor={decay_factor}: a number above 0 and up to 1", code="factor")
    condition, values = scope(ctx.tenant)
    with transaction() as db:
        if not db.execute("SELECT 1 FROM counts WHERE job = ?", (ctx.id,)).fetchone():
            decayed = f"UPDATE memories SET importance = importance * ? WHERE {condition}"
            count(db, "decayed", db.execute(decayed, (decay_factor, *values)).rowcount)
    return counts()
