-- The actions of operators, newest first. ARGV: limit, job or "". Uses the running number, or `acted` for one job.
-- uses: base
local limit, job, numbers = tonumber(ARGV[1]), ARGV[2], {}
if job == "" then
    local last = tonumber(call("GET", P .. "actions") or 0)
    for n = last, math.max(1, last - limit + 1), -1 do
        numbers[#numbers + 1] = n
    end
else
    for _, member in ipairs(call("ZREVRANGEBYLEX", P .. "acted", "(" .. job .. "\1", "[" .. job .. "\0", "LIMIT", 0, limit)) do
        numbers[#numbers + 1] = tonumber(string.sub(member, #job + 2), 16)
    end
end
local lines = {}
for _, n in ipairs(numbers) do
    lines[#lines + 1] = call("HGET", P .. "action", n)
end
return lines
