"""The kinds of jobs in a soak: how often the handler of each is called before its job has ended, if nothing goes wrong."""

RUNS = {
    "quick": 1, "awaited": 1, "chatty": 1, "large": 1, "separate": 1, "parent": 1, "child": 1, "reviewed": 1, "unique": 1,
    "napping": 3, "flaky": 3, "steps": 1, "overrun": 2, "overrun_async": 2, "endless": 2,
    "endless_process": 2, "reviewed_parent": 1, "rejected_parent": 1,
}  # fmt: skip
NEVER_END = frozenset({"endless", "endless_process"})
ENDS_DEAD = NEVER_END | {"overrun", "overrun_async", "rejected_parent"}
ENDLESS = "endless"  # the queue of handlers that only the end of their process ends, with a supervisor of its own
WEIGHTS = {
    "quick": 12, "awaited": 4, "chatty": 1, "large": 1, "separate": 3, "parent": 3, "reviewed": 2, "unique": 4, "napping": 3,
    "flaky": 3, "steps": 3, "overrun": 1, "overrun_async": 1, "reviewed_parent": 2, "rejected_parent": 1,
}  # fmt: skip
RARE = {"endless": 0.004, "endless_process": 0.006}  # the share of the enqueues: each costs two processes
