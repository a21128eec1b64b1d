"""The Redis engine: one Lua script a verb, over connections of our own. Redis 6.2 and newer, Valkey 8 and newer, alone, sentinel or cluster."""
