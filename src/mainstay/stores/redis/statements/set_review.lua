-- Changes what a review asks, and when something is due ("": never), if it is still what the caller has read. ARGV: id, what it was, what it
-- becomes, due. Returns 1 or 0.
-- uses: base
local id = ARGV[1]
if call("HGET", P .. "asked", id) ~= ARGV[2] then
    return 0
end
call("HSET", P .. "asked", id, ARGV[3])
if ARGV[4] == "" then
    call("ZREM", P .. "review_due", id)
else
    call("ZADD", P .. "review_due", ARGV[4], id)
end
return 1
