"""Flow control as operators see it: what is paused, set, limited and why a job waits. `mainstay.flow` has the verbs."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what `mainstay.flow.control` has; at run time it imports each part when a verb first needs it
    from . import (
        alerts as alerts,
        breakers as breakers,
        bulk as bulk,
        dead as dead,
        declared as declared,
        duplicates as duplicates,
        fires as fires,
        health as health,
        incoming as incoming,
        limits as limits,
        logs as logs,
        metrics as metrics,
        metrics_app as metrics_app,
        pauses as pauses,
        queues as queues,
        reconcile as reconcile,
        reviews as reviews,
        room as room,
        schedules as schedules,
        settings as settings,
        stats as stats,
        stuck as stuck,
        subscriptions as subscriptions,
        tokens as tokens,
        types as types,
        webhooks as webhooks,
        why as why,
        workers as workers,
    )  # fmt: skip
