-- What running attempts say: a list of seq, token, kind (l log, p progress, c checkpoint), order, text; five values each.
-- Answers 1 or 0 for each: whether its attempt holds the job.
local function write_updates(list, first, count)
    local ids, answers = {}, {}
    for n = 1, count do
        ids[n] = string.sub(list[first + (n - 1) * 5], SEQ_LENGTH + 1)
    end
    local found = read(ids)
    for n, id in ipairs(ids) do
        local i = first + (n - 1) * 5
        local kind, order, text = list[i + 2], list[i + 3], list[i + 4]
        local token = tonumber(list[i + 1])
        local current = holds(found[id], string.sub(list[i], 1, SEQ_LENGTH), token)
        answers[n] = current and 1 or 0
        if current and kind == "l" then
            local key, place = P .. "log:" .. id, string.format("%08x%08x", token, tonumber(order))
            if call("ZLEXCOUNT", key, "[" .. place, "(" .. place .. "\255") == 0 then
                call("ZADD", key, 0, place .. text)
            end
        elseif current then
            call("HSET", P .. (kind == "p" and "progress" or "checkpoint"), id, text)
        end
    end
    return answers
end
