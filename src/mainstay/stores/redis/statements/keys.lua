-- Keys that are taken for ever, in order. ARGV: their prefix, the member of `keys` after which to start or "", how many. Returns
-- three values each: the member (key, NUL, type), what the hash `key` has (job, space, since), 1 where the job exists.
-- uses: base
local from = ARGV[2] == "" and "[" .. ARGV[1] or "(" .. ARGV[2]
local found = {}
for _, member in ipairs(call("ZRANGEBYLEX", P .. "keys", from, "(" .. ARGV[1] .. "\255", "LIMIT", 0, ARGV[3])) do
    local key, type = string.match(member, "^(.*)%z(.*)$")
    local value = call("HGET", P .. "key", type .. ":" .. key)
    local job = string.match(value, "^%S+")
    found[#found + 1] = member
    found[#found + 1] = value
    found[#found + 1] = call("HEXISTS", P .. "job", job)
end
return found
