-- The rules of types and queues, which producers apply to drafts before they send them. The key `ruled` has their version: it grows
-- with each change, and does not exist before the first.

-- Returns whether one of the drafts from `first` on follows rules that may have changed, or should follow some.
local function concerned(first)
    local seen = {}
    if ARGV[2] ~= "0" then
        return true
    end
    for i = first + 1, #ARGV, STRIDE do
        local lane = ARGV[i]
        if not seen[lane] then
            seen[lane] = true
            local queue, type = split(lane)
            if call("HEXISTS", P .. "rule:type", type) == 1 or call("HEXISTS", P .. "rule:queue", queue) == 1 then
                return true
            end
        end
    end
    return false
end

-- Returns "rules", their version, and three lists: types and their rules, what is known of these types, queues and their rules.
local function rules_now(version)
    local types, known = call("HGETALL", P .. "rule:type"), {}
    for n = 1, #types, 2 do
        known[#known + 1] = call("HGET", P .. "type", types[n]) or ""
    end
    return { "rules", version, types, known, call("HGETALL", P .. "rule:queue") }
end

made.concerned, made.rules_now = concerned, rules_now
