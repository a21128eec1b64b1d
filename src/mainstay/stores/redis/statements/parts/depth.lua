-- Returns what refuses drafts from a queue that is full: "full", the queue, how many jobs wait there, and "sample" where one in some
-- was accepted anyway and this was not; nil where all have room. The queue's rule says what else follows (enqueue.py).
local function refused_by_depth(ids, extras, known, list, first)
    local wanted = {}
    for n, id in ipairs(ids) do
        local extra = extras[n]
        if not known[id] and not (extra and extra.lock and call("HEXISTS", P .. "lock", extra.lock) == 1) then
            local queue = split(list[first + (n - 1) * STRIDE + 1])
            wanted[queue] = (wanted[queue] or 0) + 1
        end
    end
    for queue, jobs in pairs(wanted) do
        local most, depth = rule("queue", queue).max_depth, tonumber(call("HGET", P .. "depth", queue) or 0)
        if most and most ~= cjson.null and depth + jobs > most then
            local asked_for = rule("queue", queue)
            local sampled = asked_for.when_full == "sample" and call("HINCRBY", P .. "meter", "depth\n" .. queue .. "\nsampled", 1)
            if not sampled or sampled % (asked_for.one_in or 10) ~= 0 then
                return { "full", queue, depth }
            end
        end
    end
end

made.refused_by_depth = refused_by_depth
