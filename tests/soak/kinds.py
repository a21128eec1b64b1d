"""The kinds of jobs in a soak: how often the handler of each is called before its job has ended, if nothing goes wrong."""

RUNS = {
    "quick": 1, "awaited": 1, "chatty": 1, "large": 1, "separate": 1, "parent": 1, "child": 1, "reviewed": 1, "unique": 1,
    "napping": 3, "flaky": 3, "steps": 1, "overrun": 2, "overrun_async": 2, "overrun_process": 1,
}  # fmt: skip
ENDS_DEAD = frozenset({"overrun", "overrun_async", "overrun_process"})
WEIGHTS = {
    "quick": 12, "awaited": 4, "chatty": 1, "large": 1, "separate": 3, "parent": 3, "reviewed": 2, "unique": 4, "napping": 3,
    "flaky": 3, "steps": 3, "overrun": 1, "overrun_async": 1, "overrun_process": 1,
}  # fmt: skip
