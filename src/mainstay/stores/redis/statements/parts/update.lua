-- What running attempts report: a list of seq, token, kind (l log, p progress, c checkpoint), order and text, five values
-- each. An update is left out where its attempt neither has the job nor has completed it. (A script that completed the job may
-- have been sent again with its updates.)
local function write_updates(list, first, count)
    local ids = {}
    for n = 1, count do
        ids[n] = string.sub(list[first + (n - 1) * 5], SEQ_LENGTH + 1)
    end
    local found = read(ids)
    for n, id in ipairs(ids) do
        local i, r = first + (n - 1) * 5, found[id]
        local seq, token, kind, text = string.sub(list[i], 1, SEQ_LENGTH), tonumber(list[i + 1]), list[i + 2], list[i + 4]
        local current = r and (r[STATE] == "r" or r[STATE] == "c") and r[TOKEN] == token and r[SEQ] == seq
        if current and kind == "l" then
            local key, place = P .. "log:" .. id, string.format("%08x%08x", token, tonumber(list[i + 3]))
            if call("ZLEXCOUNT", key, "[" .. place, "(" .. place .. "\255") == 0 then
                call("ZADD", key, 0, place .. text)
            end
        elseif current then
            call("HSET", P .. (kind == "p" and "progress" or "checkpoint"), id, text)
        end
    end
end
