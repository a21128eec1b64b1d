"""The HNSW index over the vectors, in one file, and the types that keep it small and fast.

The table `memory_vectors` is the truth. The index follows it: `catch_up` adds what is new and removes what is gone. A change is
written beside the file and renamed, under a lock, so searches never wait and a process that is killed leaves the old file.
"""

import fcntl
import json
import os
import time
from contextlib import closing, contextmanager

import numpy as np
from usearch.index import Index

from examples.agent_workers.application import DATA, app
from examples.agent_workers.database import connect, marks, rows, transaction
from mainstay import Limit, Permanent, Retry, ctx

NDIM = 256
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 128, 64
NAMESPACES = {"memories": DATA / "memories.usearch"}
CHUNK = 2_000  # vectors that are read and added at once
# Jobs that rewrite an index run one after the other; the others of these types wait without a slot.
ONE_WRITER = Limit(running=1, name="index-writer")


def search(namespace, vector, count=5):
    """Return the ids nearest to a vector, each with its cosine, the nearest first. It may run while the index is rewritten."""
    path = NAMESPACES[namespace]
    if not path.exists():
        return []
    found = Index.restore(path, view=True).search(np.asarray(vector, dtype=np.float32), count)
    numbers = [int(key) for key in found.keys]
    ids = dict(rows(f"SELECT number, id FROM memory_vectors WHERE number IN ({marks(numbers)})", *numbers))
    return [
        (ids[number], 1 - float(distance))
        for number, distance in zip(numbers, found.distances, strict=True) if number in ids
    ]  # fmt: skip


def figures(namespace):
    """Return how many vectors the index has, and how many places of removed ones it still carries."""
    path = NAMESPACES[namespace]
    if not path.exists():
        return {"live": 0, "removed": 0}
    known = Index.metadata(path)
    return {"live": known["count_present"], "removed": known["count_deleted"]}


def keys(namespace):
    """Return the keys in the index."""
    path = NAMESPACES[namespace]
    return set(map(int, Index.restore(path).keys)) if path.exists() else set()


# changes --------------------------------------------------------------------------------------------------------------
def fresh(connectivity=CONNECTIVITY, expansion_add=EXPANSION_ADD):
    """Return an empty index. f32, as the usual bf16 would lose digits with each rebuild."""
    return Index(
        ndim=NDIM, metric="cos", dtype="f32", connectivity=connectivity, expansion_add=expansion_add,
        expansion_search=EXPANSION_SEARCH,
    )  # fmt: skip


@contextmanager
def writing(namespace):
    """Hold the lock of an index; yields a function that puts another index into its place. A killed process holds no lock."""
    path = NAMESPACES[namespace]
    with path.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lambda index: _replace(path, index)


def _replace(path, index):
    beside = path.with_suffix(f".new-{os.getpid()}")
    index.save(beside)
    beside.replace(path)


def catch_up(namespace):
    """Bring the index up to date with the table; return how many vectors were added and removed."""
    with writing(namespace) as replace, closing(connect()) as db:
        new = db.execute("SELECT number, vector FROM memory_vectors WHERE indexed = 0 ORDER BY number").fetchall()
        gone = [number for (number,) in db.execute("SELECT number FROM removed_vectors")]
        if new or gone:
            path = NAMESPACES[namespace]
            index = Index.restore(path) if path.exists() else fresh()
            changed = [number for number in (*gone, *(row["number"] for row in new)) if number in index]
            if changed:
                index.remove(np.array(changed, dtype=np.uint64))
            _add(index, new)
            replace(index)
            _noted(new, gone)
    return {"added": len(new), "removed": len(gone)}


def _add(index, found):
    if found:
        numbers = np.array([row["number"] for row in found], dtype=np.uint64)
        index.add(numbers, np.array([json.loads(row["vector"]) for row in found], dtype=np.float32))


def _noted(new, gone):
    """Note what the index has now; a vector that was changed meanwhile stays to be indexed."""
    with transaction() as db:
        db.executemany("UPDATE memory_vectors SET indexed = 1 WHERE number = ? AND vector = ?", map(tuple, new))
        db.executemany("DELETE FROM removed_vectors WHERE number = ?", ((number,) for number in gone))


def rebuild(namespace, index):
    """Fill an empty index from the table and put it into the place of the one there is; return how many vectors it has."""
    with writing(namespace) as replace, closing(connect()) as db:
        gone = [number for (number,) in db.execute("SELECT number FROM removed_vectors")]
        cursor, added = db.execute("SELECT number, vector FROM memory_vectors ORDER BY number"), []
        while found := cursor.fetchmany(CHUNK):
            _add(index, found)
            added += found
            ctx.check()
        replace(index)
        _noted(added, gone)
    return len(added)


def known(namespace):
    """Raise `Permanent` for a namespace that this application does not have."""
    if namespace not in NAMESPACES:
        raise Permanent(
            f"there is no namespace {namespace!r:.80}; there are: {', '.join(NAMESPACES)}", code="namespace"
        )
    return namespace


# job types ------------------------------------------------------------------------------------------------------------
@app.job(name="index-optimization", priority=2, retry=Retry(3, base="10s"), timeout="10m", limit=ONE_WRITER)
def index_optimization(threshold: float = 0.8, namespace: str = "memories") -> dict[str, float | bool]:
    """Rebuild an index of which less than this part is live: removed vectors cost memory and slow searches down."""
    catch_up(known(namespace))
    before = figures(namespace)
    share = before["live"] / max(before["live"] + before["removed"], 1)
    if share >= threshold or not before["removed"]:
        return {"rebuilt": False, "live": before["live"], "share": share}
    ctx.progress(0.1, phase="rebuilding")
    return {"rebuilt": True, "live": rebuild(namespace, fresh()), "share": share}


@app.job(name="index-rebalance", priority=2, retry=Retry(3, base="10s"), timeout="10m", limit=ONE_WRITER)
def index_rebalance(
    namespace: str = "memories", connectivity: int = CONNECTIVITY, expansion_add: int = EXPANSION_ADD
) -> dict[str, float]:
    """Rebuild an index with other parameters: more connections find more, and take more memory."""
    began = time.monotonic()
    live = rebuild(known(namespace), fresh(connectivity, expansion_add))
    return {"live": live, "connectivity": connectivity, "seconds": round(time.monotonic() - began, 3)}
