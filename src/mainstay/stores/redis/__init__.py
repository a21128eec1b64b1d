"""The Redis engine: one Lua script a verb, on redis-py. Redis 6.2 and newer, Valkey 8 and newer, alone, sentinel or cluster."""
