"""Chores: each has a `step(now)` that does one round and returns when to do the next. `Worker` lists them."""
