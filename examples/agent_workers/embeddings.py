"""Texts to vectors: the real embedder, `embedding-batch` of `mainstay.handlers.embed`, and `embedding-reindex`."""

import functools
import json
import pathlib
import threading

from examples.agent_workers.application import app
from examples.agent_workers.database import connect, rows, scope, transaction
from examples.agent_workers.index import ONE_WRITER, catch_up, known
from mainstay import Limit, Retry, ctx
from mainstay.handlers import embed

_loading = threading.Lock()


@functools.cache
def _model():
    """Load the model out of its wheel: wordllama, 256 dimensions. It takes a second, so nothing does before the first text."""
    import wordllama

    return wordllama.WordLlama.load(cache_dir=pathlib.Path(wordllama.__file__).parent, disable_download=True)


def vectors_of(texts):
    """Return a vector of length 1 for each text."""
    with _loading:
        model = _model()
    return model.embed(texts, norm=True)


batches = embed.register(
    app, name="embedding-batch", embedder=vectors_of, connect=connect, batch=32,
    spaces={"memories": embed.Space("memory_vectors", metadata="about")}, updates={"memories": ["embedding_id"]},
    priority=10, retry=Retry(5, base="2s"), timeout="1m", limit=Limit(running=3, rate="5/s"),
)  # fmt: skip
embedding_batch = batches.embed


@embedding_batch.middleware
def index_afterwards():
    """Bring the index up to date when the vectors of a job are stored; if that fails, the job is tried again."""
    yield
    catch_up("memories")


def items_of(found):
    """Return memories as items of `embedding-batch`."""
    return [
        {"text": row["content"], "source_id": row["id"], "metadata": {"org": row["org"], "workspace": row["workspace"]}}
        for row in found
    ]


def unembedded(tenant):
    """Return the memories of a tenant that have no vector yet."""
    condition, values = scope(tenant)
    return rows(f"SELECT * FROM memories WHERE embedding_id IS NULL AND {condition} ORDER BY id", *values)


@app.job(name="embedding-reindex", priority=2, retry=Retry(3, base="10s"), timeout="30m", limit=ONE_WRITER)
def embedding_reindex(namespace: str = "memories", page: int = 256) -> dict[str, int]:
    """Embed every memory again, page by page: after a change of the embedder. An attempt goes on where the last one stopped."""
    known(namespace)
    after, done = ctx.checkpoint.get("after", ""), ctx.checkpoint.get("done", 0)
    total = len(rows("SELECT 1 FROM memory_vectors"))
    while found := rows(PAGE, after, page):
        fresh = vectors_of([row["content"] for row in found])
        with transaction() as db:
            pairs = ((_encoded(vector), row["embedding_id"]) for vector, row in zip(fresh, found, strict=True))
            db.executemany("UPDATE memory_vectors SET vector = ? WHERE id = ?", pairs)
        after, done = found[-1]["embedding_id"], done + len(found)
        ctx.progress(done, total, phase="embedding")
        ctx.save(after=after, done=done)
    return {"embedded": done, **catch_up(namespace)}


PAGE = """
SELECT embedding_id, content FROM memories JOIN memory_vectors v ON v.id = embedding_id WHERE embedding_id > ?
ORDER BY embedding_id LIMIT ?
"""


def _encoded(vector):
    return json.dumps([float(each) for each in vector])
