-- The jobs that warned last, the last first. ARGV: since when, how many, and behind which: when it warned, and its id. Returns for each its
-- id, when it warned, and its log.
-- uses: base
local since, limit, at, behind = ARGV[1], tonumber(ARGV[2]), ARGV[3] or "+inf", ARGV[4]
local function page(first, last, skip)
    return call("ZREVRANGEBYSCORE", P .. "warned", first, last, "WITHSCORES", "LIMIT", skip, limit)
end
local found = {}
local function add(pairs_found)
    for i = 1, #pairs_found, 2 do
        local id, score = pairs_found[i], pairs_found[i + 1]
        if #found < 3 * limit and not (behind and score == at and id >= behind) then
            found[#found + 1] = id
            found[#found + 1] = score
            found[#found + 1] = call("ZRANGE", P .. "log:" .. id, 0, -1)
        end
    end
end
local skip = 0
repeat -- many may have warned in one millisecond
    local some = page(at, since, skip)
    add(some)
    skip = skip + limit
until #some == 0 or #found >= 3 * limit
return found
