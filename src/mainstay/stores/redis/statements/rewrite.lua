-- Replaces texts of a job that are still what they were. ARGV: id; a JSON list of column, was, now, token, n (`core.export.Rewrite`).
-- uses: base batch record
local id = ARGV[1]
local HASHES = { payload = "payload", result = "result", children = "children", checkpoint = "checkpoint", review = "asked", details = "details" }
local ATTEMPT = { error = 7, traceback = 8 }
local LINE = { message = 4, fields = 5 }

local function in_attempts(column, was, now, token)
    local key = P .. "attempt:" .. id
    for n, text in ipairs(call("LRANGE", key, 0, -1)) do
        local line = cjson.decode(text)
        if line[2] == token and line[ATTEMPT[column]] == was then
            line[ATTEMPT[column]] = now
            call("LSET", key, n - 1, cjson.encode(line))
        end
    end
    if column == "error" and call("HGET", P .. "error", id) == was then
        call("HSET", P .. "error", id, now)
    end
end

local function in_log(column, was, now, token, n)
    local key, first = P .. "log:" .. id, string.format("%08x", token)
    for _, member in ipairs(call("ZRANGEBYLEX", key, "[" .. first, "[" .. first .. string.format("%08x", n) .. "\255")) do
        local line, changed = cjson.decode(string.sub(member, 17)), false
        if type(line[3]) == "table" then -- several lines in one
            local lines = cjson.decode(line[4])
            for _, each in ipairs(lines) do
                if each[1] == n and each[LINE[column] + 1] == was then
                    each[LINE[column] + 1], changed = now, true
                end
            end
            line[4] = changed and cjson.encode(lines) or line[4]
        elseif tonumber(string.sub(member, 9, 16), 16) == n and line[LINE[column]] == was then
            line[LINE[column]], changed = now, true
        end
        if changed then
            call("ZREM", key, member)
            call("ZADD", key, 0, string.sub(member, 1, 16) .. cjson.encode(line))
            return
        end
    end
end

for _, text in ipairs(cjson.decode(ARGV[2])) do
    local column, was, now, token, n = text[1], text[2], text[3], text[4], text[5]
    if HASHES[column] then
        if call("HGET", P .. HASHES[column], id) == was then
            call("HSET", P .. HASHES[column], id, now)
        end
    elseif column == "reason" then
        local r = read_one(id)
        if r and r[REASON] == was then
            r[REASON] = now
            call("HSET", P .. "job", id, cmsgpack.pack(r))
        end
    elseif ATTEMPT[column] then
        in_attempts(column, was, now, token)
    else
        in_log(column, was, now, token, n)
    end
end
return 1
