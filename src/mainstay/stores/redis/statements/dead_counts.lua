-- Dead jobs by fingerprint, type and hour since an instant, those that died last first. ARGV: that instant, from which rank, how many.
-- Returns how many were read, and rows of fingerprint or false, type, hour (-1: before), count, the first and the last end, and the newest id.
-- uses: base batch record lane
local since, first = tonumber(ARGV[1]), tonumber(ARGV[2])
local found = call("ZREVRANGE", P .. "ended:d", first, first + tonumber(ARGV[3]) - 1, "WITHSCORES")
local ids, ends = {}, {}
for n = 1, #found, 2 do
    ids[#ids + 1], ends[#ends + 1] = found[n], tonumber(found[n + 1])
end
local prints, records, rows, reply = fetch("fingerprint", ids), read(ids), {}, { #ids }
for n, id in ipairs(ids) do
    local _, type = split(records[id][LANE])
    local hour = ends[n] >= since and math.floor((ends[n] - since) / 3600000) or -1
    local name = (prints[n] or "") .. "\0" .. hour .. "\0" .. type
    local row = rows[name]
    if not row then
        row = { prints[n] or false, type, hour, 0, ends[n], ends[n], id }
        rows[name], reply[#reply + 1] = row, row
    end
    row[4], row[5], row[7] = row[4] + 1, ends[n], id > row[7] and id or row[7]
end
return reply
