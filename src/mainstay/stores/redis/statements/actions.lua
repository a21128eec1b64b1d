-- The actions of operators, newest first. ARGV: limit, job or "", without a job the number before which they are ("": all). Returns the
-- number and the entry of each. Uses the running number, or `acted` and `bulks` for one job.
-- uses: base
local limit, job, numbers = tonumber(ARGV[1]), ARGV[2], {}
if job == "" then
    local last = tonumber(ARGV[3]) and tonumber(ARGV[3]) - 1 or tonumber(call("GET", P .. "actions") or 0)
    for n = last, math.max(1, last - limit + 1), -1 do
        numbers[#numbers + 1] = n
    end
else
    for _, member in ipairs(call("ZREVRANGEBYLEX", P .. "acted", "(" .. job .. "\1", "[" .. job .. "\0", "LIMIT", 0, limit)) do
        numbers[#numbers + 1] = tonumber(string.sub(member, #job + 2), 16)
    end
    for bulk in string.gmatch(call("HGET", P .. "bulks", job) or "", "%S+") do
        numbers[#numbers + 1] = tonumber(call("HGET", P .. "bulk", bulk) or nil)
    end
    table.sort(numbers, function(a, b) return a > b end)
end
local lines = {}
for k = 1, math.min(#numbers, limit) do
    local entry = call("HGET", P .. "action", numbers[k])
    if entry then
        lines[#lines + 1] = numbers[k]
        lines[#lines + 1] = entry
    end
end
return lines
