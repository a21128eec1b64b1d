-- Dead jobs without a fingerprint, of those that died since an instant. ARGV: that instant, how many to skip, how many to look at.
-- Returns how many were looked at, and the ids.
-- uses: base batch record
local ids = call("ZRANGEBYSCORE", P .. "ended:d", ARGV[1], "+inf", "LIMIT", ARGV[2], ARGV[3])
local prints, reply = fetch("fingerprint", ids), { #ids }
for n, id in ipairs(ids) do
    if not prints[n] then
        reply[#reply + 1] = id
    end
end
return reply
