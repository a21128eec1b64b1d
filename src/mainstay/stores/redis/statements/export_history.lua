-- Attempts or log lines, job by job. ARGV: attempt or log, the id at which to begin ("" for the first), how many of its
-- lines to leave out, how many lines, how many jobs to look at. Answers the id to go on from ("" at the end) and how many
-- of its lines are through, then id and line of each. Served by `ids` and a key a job.
-- uses: base
local kind, from, skip, limit, jobs = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local command = kind == "log" and "ZRANGE" or "LRANGE"
local ids = call("ZRANGEBYLEX", P .. "ids", from == "" and "-" or "[" .. from, "+", "LIMIT", 0, jobs)
local answer, last, through, left = { "", 0 }, "", 0, limit
for _, id in ipairs(ids) do
    local first = id == from and skip or 0
    local lines = call(command, P .. kind .. ":" .. id, first, first + left - 1)
    for _, line in ipairs(lines) do
        answer[#answer + 1] = id
        answer[#answer + 1] = line
    end
    last, through, left = id, first + #lines, left - #lines
    if left == 0 then
        break
    end
end
if left == 0 or #ids == jobs then
    answer[1], answer[2] = last, through
end
return answer
