-- Removes workers whose lease is over, so that none can renew it again. Then finds up to `limit` running jobs whose worker is
-- gone (1), or that are far past their timeout (0). ARGV: now, grace, limit, what a row holds (parts/row.lua). Returns 1 or
-- 0 and a row for each. Uses `workers`, `gone` and the `run:` of each worker: of live workers, only jobs past their timeout.
-- uses: base batch record row deregister
local now, limit, shape = instant(ARGV[1]), tonumber(ARGV[3]), cjson.decode(ARGV[4])
for _, worker in ipairs(call("ZRANGEBYSCORE", P .. "workers", "-inf", now)) do
    deregister(worker)
end

local orphans = {}
local function add(ids, gone)
    for _, values in ipairs((rows(ids, shape))) do
        orphans[#orphans + 1] = { gone, values }
    end
end

for _, worker in ipairs(call("SMEMBERS", P .. "gone")) do
    if #orphans < limit then
        local ids = call("ZRANGE", P .. "run:" .. worker, 0, limit - #orphans - 1)
        add(ids, 1)
        if #ids == 0 then
            call("SREM", P .. "gone", worker)
            call("DEL", P .. "stop:" .. worker)
        end
    end
end
local over = "(" .. string.format("%.0f", now - tonumber(ARGV[2]))
for _, worker in ipairs(call("ZRANGE", P .. "workers", 0, -1)) do
    if #orphans < limit then
        add(call("ZRANGEBYSCORE", P .. "run:" .. worker, "-inf", over, "LIMIT", 0, limit - #orphans), 0)
    end
end
return orphans
