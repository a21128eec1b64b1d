-- Replaces texts of a job that are still what they were. ARGV: id; a JSON list of column, was, now, token, n (`core.export.Rewrite`).
-- uses: base batch record
local id = ARGV[1]
local HASHES = { payload = "payload", result = "result", children = "children", checkpoint = "checkpoint", review = "asked" }
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
    local key, place = P .. "log:" .. id, string.format("%08x%08x", token, n)
    local member = call("ZRANGEBYLEX", key, "[" .. place, "(" .. place .. "\255")[1]
    local line = member and cjson.decode(string.sub(member, 17))
    if line and line[LINE[column]] == was then
        line[LINE[column]] = now
        call("ZREM", key, member)
        call("ZADD", key, 0, place .. cjson.encode(line))
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
