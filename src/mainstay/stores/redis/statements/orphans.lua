-- Removes workers whose lease is over, so that none can renew it again. Then finds up to `limit` running jobs whose worker is
-- gone (1), or that are far past their timeout (0). ARGV: now, grace, limit, what a row holds (parts/row.lua). Returns 1 or
-- 0 and a row for each. Uses `workers`, `gone` and the `run:` of each worker: of live workers, only jobs past their timeout.
-- uses: base batch record row deregister
local now, limit, shape = instant(ARGV[1]), tonumber(ARGV[3]), cjson.decode(ARGV[4])
for _, worker in ipairs(call("ZRANGEBYSCORE", P .. "workers", "-inf", now)) do
    deregister(worker)
end

local rows = {}
local function add(ids, gone)
    local found = read(ids)
    for _, id in ipairs(ids) do
        if found[id] then
            rows[#rows + 1] = { gone, row(id, found[id], shape) }
        end
    end
end

for _, worker in ipairs(call("SMEMBERS", P .. "gone")) do
    if #rows < limit then
        local ids = call("ZRANGE", P .. "run:" .. worker, 0, limit - #rows - 1)
        add(ids, 1)
        if #ids == 0 then
            call("SREM", P .. "gone", worker)
            call("DEL", P .. "stop:" .. worker)
        end
    end
end
local over = "(" .. string.format("%.0f", now - tonumber(ARGV[2]))
for _, worker in ipairs(call("ZRANGE", P .. "workers", 0, -1)) do
    if #rows < limit then
        add(call("ZRANGEBYSCORE", P .. "run:" .. worker, "-inf", over, "LIMIT", 0, limit - #rows), 0)
    end
end
return rows
