-- What running attempts report, attempt by attempt: seq, token, how many log lines, how many other reports, these (each with its kind in
-- front), and the lines, each with its place in front. An attempt that neither has the job nor has completed it is left out. (A script
-- that completed the job may have been sent again with its updates.) Returns the position behind the last, and the records that it read.
local MEMBERS = 1000 -- in one command

local function write_lines(id, list, first, last)
    for start = first, last, MEMBERS do
        local members = {}
        for i = start, math.min(start + MEMBERS - 1, last) do
            members[#members + 1] = 0
            members[#members + 1] = list[i]
        end
        call("ZADD", P .. "log:" .. id, unpack(members))
    end
end

local function write_other(id, kind, value)
    if kind == "warned" then -- an instant
        call("ZADD", P .. "warned", value, id)
        return
    end
    call("HSET", P .. kind, id, value)
    if kind == "progress" then -- its details may follow
        call("HDEL", P .. "details", id)
    end
end

local function write_updates(list, i, count)
    local ids, places = {}, {}
    for n = 1, count do
        ids[n], places[n] = string.sub(list[i], SEQ_LENGTH + 1), i
        i = i + 4 + list[i + 2] + 2 * list[i + 3]
    end
    local found = read(ids)
    for n, id in ipairs(ids) do
        local at, r = places[n], found[id]
        if r and (r[STATE] == "r" or r[STATE] == "c") and r[TOKEN] == tonumber(list[at + 1]) and r[SEQ] == string.sub(list[at], 1, SEQ_LENGTH) then
            local first = at + 4 + 2 * list[at + 3]
            for k = at + 4, first - 1, 2 do
                write_other(id, list[k], list[k + 1])
            end
            write_lines(id, list, first, first + list[at + 2] - 1)
        end
    end
    return i, found
end
