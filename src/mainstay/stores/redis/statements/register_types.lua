-- Makes types known. ARGV: per type its name, the time, and its declaration as JSON (maintenance.py). An entry is that JSON with three
-- times in front: when the type was first known, when its declaration changed last, and when it was seen last.
-- uses: base
for n = 1, #ARGV, 3 do
    local name, now, declared = ARGV[n], ARGV[n + 1], string.sub(ARGV[n + 2], 2)
    local before = call("HGET", P .. "type", name) or ""
    local created, updated, last = string.match(before, '^{"created_at":(%d+),"updated_at":(%d+),"seen_at":%d+,(.*)$')
    updated = last == declared and updated or now
    local times = string.format('{"created_at":%s,"updated_at":%s,"seen_at":%s,', created or now, updated, now)
    call("HSET", P .. "type", name, times .. declared)
end
return #ARGV / 3
