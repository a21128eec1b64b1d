-- The candidates of a search, as far as its checks need them. ARGV: what is wanted besides (p payload, a attempts), the
-- letters of the states that may be ("" any), how many names of types, the names (with a star at the end: what starts
-- so; none: any), ids. Most candidates are told apart here, where it costs least.
-- Answers eleven values for each that may be: id, state, attempt, worker, started, finished, cancel, reason, meta, payload,
-- attempts.
-- uses: base batch record lane
local what, letters, names = ARGV[1], ARGV[2], tonumber(ARGV[3])
local ids, rows, last = {}, {}, 0
for n = 4 + names, #ARGV do
    ids[#ids + 1] = ARGV[n]
end

local verdicts = {} -- lanes are few: each is judged once
local function known(lane)
    if verdicts[lane] == nil then
        local type, fits = type_of(lane), names == 0
        for n = 4, 3 + names do
            local name = ARGV[n]
            local start = string.sub(name, -1) == "*" and string.sub(name, 1, -2)
            fits = fits or type == name or (start and string.sub(type, 1, #start) == start)
        end
        verdicts[lane] = fits or false
    end
    return verdicts[lane]
end

local payload, attempts = string.find(what, "p"), string.find(what, "a")
local found = read(ids)
for _, id in ipairs(ids) do
    local r = found[id]
    if r and (letters == "" or string.find(letters, r[STATE], 1, true)) and known(r[LANE]) then
        rows[last + 1], rows[last + 2], rows[last + 3], rows[last + 4] = id, r[STATE], r[ATTEMPT], r[WORKER]
        rows[last + 5], rows[last + 6], rows[last + 7], rows[last + 8] = r[STARTED], r[FINISHED], r[CANCEL], r[REASON]
        rows[last + 9], rows[last + 10] = r[META], payload and call("HGET", P .. "payload", id) or false
        rows[last + 11] = attempts and call("LRANGE", P .. "attempt:" .. id, 0, -1) or {}
        last = last + 11
    end
end
return rows
