-- The candidates of a search that may match. ARGV: JSON of what a row holds (parts/row.lua), whether the attempts or their
-- codes are wanted too, the letters of the possible states ("": any) and the names of the possible types (a name that ends with a star means
-- what starts so; none: any); then ids. Most candidates are ruled out here, where it costs least. Returns a row for each of
-- the others; behind it its attempts, their codes and, where wanted, its digest (parts/audit.lua).
-- uses: base batch record lane row audit
local want, ids = cjson.decode(ARGV[1]), { unpack(ARGV, 2) }

local verdicts = {} -- lanes are few: each is checked once
local function possible(lane)
    if verdicts[lane] == nil then
        local _, type = split(lane)
        local fits = #want.types == 0
        for _, name in ipairs(want.types) do
            local start = string.sub(name, -1) == "*" and string.sub(name, 1, -2)
            fits = fits or type == name or (start and string.sub(type, 1, #start) == start)
        end
        verdicts[lane] = fits or false
    end
    return verdicts[lane]
end

local possible_ids, records = {}, read(ids)
for _, id in ipairs(ids) do
    local r = records[id]
    if r and (want.states == "" or string.find(want.states, r[STATE], 1, true)) and possible(r[LANE]) then
        possible_ids[#possible_ids + 1] = id
    end
end
local found = rows(possible_ids, want)
for _, values in ipairs(found) do
    values[#values + 1] = want.attempts and call("LRANGE", P .. "attempt:" .. values[1], 0, -1) or {}
    values[#values + 1] = want.codes and call("HVALS", P .. "codes:" .. values[1]) or {}
    values[#values + 1] = want.digests and digest(values[1]) or nil
end
return found
