-- The newest jobs that may be duplicates of others. ARGV: since when they were created, from which rank, how many, the longest arguments
-- that are compared. Returns 1 if there are more jobs since then, else 0; and rows of id, type, key or false, a digest of the arguments or
-- false, and 1 for a job that has not ended.
-- uses: base batch record lane
local since, first, count, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ids = call("ZREVRANGE", P .. "ids", first, first + count) -- one more than is looked at
local records, payloads, reply = read(ids), fetch("payload", ids), { 0 }
for n, id in ipairs(ids) do
    local r = records[id]
    local created, last = string.match(r[HEADER], "^[^\n]*\n(%d+)[^\n]*\n(.*)")
    if tonumber(created) < since then
        break
    elseif n > count then
        reply[1] = 1
        break
    end
    local rare = last ~= "" and cjson.decode(last) or {}
    local key = rare[1] ~= cjson.null and rare[1] or false
    local plain = not key and payloads[n] ~= "{}" and #payloads[n] <= longest and not (rare[5] and rare[5].schedule)
    if key or plain then
        local _, type = split(r[LANE])
        reply[#reply + 1] = { id, type, key, plain and redis.sha1hex(payloads[n]), string.find("cxd", r[STATE], 1, true) and 0 or 1 }
    end
end
return reply
