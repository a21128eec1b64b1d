"""Chores: each a `step(now)` that does one round and says when it wants to be called again. Safe when two processes do it."""
