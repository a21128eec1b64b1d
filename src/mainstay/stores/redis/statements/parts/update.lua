-- What running attempts report, attempt by attempt: seq, token, progress and its details, checkpoint, when it last warned, how many log
-- lines, and these, each with its place in front. An empty text stands for none. An attempt that neither has the job nor has completed
-- it is left out. (A script that completed the job may have been sent again with its updates.) Returns the position behind the last.
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

local function write_updates(list, i, count)
    for _ = 1, count do
        local seq, id, lines = string.sub(list[i], 1, SEQ_LENGTH), string.sub(list[i], SEQ_LENGTH + 1), tonumber(list[i + 6])
        local r = read_one(id)
        if r and (r[STATE] == "r" or r[STATE] == "c") and r[TOKEN] == tonumber(list[i + 1]) and r[SEQ] == seq then
            if list[i + 2] ~= "" then
                call("HSET", P .. "progress", id, list[i + 2])
                call("HDEL", P .. "details", id)
            end
            if list[i + 3] ~= "" then
                call("HSET", P .. "details", id, list[i + 3])
            end
            if list[i + 4] ~= "" then
                call("HSET", P .. "checkpoint", id, list[i + 4])
            end
            if list[i + 5] ~= "" then
                call("ZADD", P .. "warned", list[i + 5], id)
            end
            write_lines(id, list, i + 7, i + 6 + lines)
        end
        i = i + 7 + lines
    end
    return i
end
