-- Buries the workers whose lease has run out, so that none can come back to it; then answers up to `limit` running jobs
-- without a worker (1), or far past their timeout (0). ARGV: now, grace, limit. Served by `workers`, `gone` and the `run:`
-- of each worker: the jobs of the living are only looked at from their timeout on.
-- uses: base batch record row deregister
local now, limit = instant(ARGV[1]), tonumber(ARGV[3])
for _, worker in ipairs(call("ZRANGEBYSCORE", P .. "workers", "-inf", now)) do
    deregister(worker)
end

local rows = {}
local function add(ids, gone)
    local found = read(ids)
    for _, id in ipairs(ids) do
        if found[id] then
            local orphan = row(found[id], id, "")
            orphan[#orphan + 1] = gone
            rows[#rows + 1] = orphan
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
