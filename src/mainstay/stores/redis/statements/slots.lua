-- The slots that are held or waited for, by name. ARGV: how many. Returns slot, holders and jobs in line of each.
-- uses: base
local found, last, limit = {}, "-", tonumber(ARGV[1])
while #found < 3 * limit do
    local names = call("ZRANGEBYLEX", P .. "lines", last, "+", "LIMIT", 0, limit)
    for _, name in ipairs(names) do
        local holders, waiting = call("ZCARD", P .. "hold:" .. name), call("ZCARD", P .. "wait:" .. name)
        last = "(" .. name
        if string.find(name, "\n", 1, true) and holders + waiting > 0 and #found < 3 * limit then
            found[#found + 1] = name
            found[#found + 1] = holders
            found[#found + 1] = waiting
        end
    end
    if #names < limit then
        break
    end
end
return found
