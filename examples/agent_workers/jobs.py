"""All 18 job types and the five default schedules: `mainstay worker --app examples.agent_workers.jobs:app`."""

from examples.agent_workers.application import app
from examples.agent_workers.embeddings import embedding_batch, embedding_reindex
from examples.agent_workers.index import index_optimization, index_rebalance
from examples.agent_workers.integrations import slack_sync, webhook_dispatch
from examples.agent_workers.learning import ewc_consolidation, pattern_training, trajectory_process
from examples.agent_workers.maintenance import audit_export, data_deletion, data_export, quota_check
from examples.agent_workers.memories import memory_cleanup, memory_consolidation, memory_importance_decay
from examples.agent_workers.sessions import session_archive, session_cleanup

# Six fields: the first are the seconds.
app.schedule("session-cleanup", session_cleanup.prepare(max_age_hours=24), cron="0 */15 * * * *")
app.schedule("memory-importance-decay", memory_importance_decay.prepare(decay_factor=0.99), cron="0 0 */6 * * *")
app.schedule("index-optimization", index_optimization.prepare(threshold=0.8), cron="0 0 3 * * *", tz="UTC")
app.schedule(
    "pattern-training-daily", pattern_training.prepare(batch_size=1000, epochs=5), cron="0 0 4 * * *", tz="UTC"
)
app.schedule("quota-check", quota_check.prepare(), cron="0 0 * * * *")

TYPES = (
    memory_consolidation, memory_cleanup, memory_importance_decay, embedding_batch, embedding_reindex, trajectory_process,
    pattern_training, ewc_consolidation, session_cleanup, session_archive, index_optimization, index_rebalance,
    webhook_dispatch, slack_sync, quota_check, audit_export, data_export, data_deletion,
)  # fmt: skip

__all__ = ["TYPES", "app"]
