-- Attempts or log lines, job by job. ARGV: attempt or log, the id at which to begin ("": the first), how many of its lines to
-- skip, how many lines, how many jobs to look at. Returns the id to continue from ("" at the end) and how many of its lines
-- were returned, then id and line of each. Uses `ids` and a key per job.
-- uses: base
local kind, from, skip, limit, jobs = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local command = kind == "log" and "ZRANGE" or "LRANGE"
local ids = call("ZRANGEBYLEX", P .. "ids", from == "" and "-" or "[" .. from, "+", "LIMIT", 0, jobs)
local reply, last, through, left = { "", 0 }, "", 0, limit
for _, id in ipairs(ids) do
    local first = id == from and skip or 0
    local lines = call(command, P .. kind .. ":" .. id, first, first + left - 1)
    for _, line in ipairs(lines) do
        reply[#reply + 1] = id
        reply[#reply + 1] = line
    end
    last, through, left = id, first + #lines, left - #lines
    if left == 0 then
        break
    end
end
if left == 0 or #ids == jobs then
    reply[1], reply[2] = last, through
end
return reply
