"""The example agent_workers for tests: its servers, its modules imported anew, and its model behind a server of faults."""

import importlib
import sys
from contextlib import contextmanager
from types import SimpleNamespace

from examples.agent_workers import parts
from tests.servers import model
from tests.servers.faults import Faults

PACKAGE = "examples.agent_workers"
PATIENCE = 60
# Those that read the environment when they are imported.
MODULES = (
    "application", "database", "files", "index", "embeddings", "memories", "learning", "sessions", "integrations", "maintenance",
    "jobs", "sample_data", "chapters",
)  # fmt: skip


@contextmanager
def imported(**variables):
    """Import the application with these variables; yields its modules by name. Those of another test are put back afterwards."""
    names = [f"{PACKAGE}.{name}" for name in MODULES]
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    with parts.environment({name: str(value) for name, value in variables.items()}):
        try:
            yield SimpleNamespace(**{name: importlib.import_module(f"{PACKAGE}.{name}") for name in MODULES})
        finally:
            for name in names:
                sys.modules.pop(name, None)
            sys.modules.update(before)


@contextmanager
def system(folder, then="model"):
    """Start everything but workers; yields the modules, with `servers` and `model`, which answers as the real one or as told."""
    with (
        Faults(model=model.address(), then=then) as faults,
        parts.servers(folder, faults.url) as found,
        imported(AGENT_DATA=folder / "data") as modules,
    ):
        modules.servers, modules.model, modules.app = found, faults, modules.jobs.app
        yield modules
        modules.app.close()


def done(handle):
    """The result of a job, once it has ended."""
    return handle.result(timeout=PATIENCE)


def embed_all(agents, tenant):
    """Give every memory of a tenant a vector; return the job."""
    items = agents.embeddings.items_of(agents.embeddings.unembedded(tenant))
    job = agents.embeddings.embedding_batch.options(tenant=tenant).enqueue(
        items, "memories", "memories", "embedding_id"
    )
    done(job)
    return job


def consolidate(agents, tenant, ids, **more):
    """Enqueue the consolidation of memories of the user ana in the workspace of a tenant."""
    bound = agents.memories.memory_consolidation.options(tenant=tenant)
    return bound.enqueue(tenant.partition("/")[2], "ana", list(ids), **more)
