-- Counts an outcome of a type with a breaker, and opens or closes it. The hash `outcomes` has the last ones of a type, a letter
-- each: f failed, c completed. A rule of kind `breaker` exists while it is open; an operator's, which is forced, stays. `made.opened` tells
-- that this call has opened one.
local function count_outcome(r, spec, failed, now)
    local _, type = split(r[LANE])
    local rest = spec[3]
    local text = call("HGET", P .. "rule:breaker", type)
    local rule = text and cjson.decode(text)
    if rule and rule.value.forced then
        return
    elseif rule and not failed then
        call("HDEL", P .. "rule:breaker", type)
        return
    elseif rule then
        rule.value["until"], rule.value.rest = now + rest, rest
        call("HSET", P .. "rule:breaker", type, cjson.encode(rule))
        return
    end
    local last = string.sub((call("HGET", P .. "outcomes", type) or "") .. (failed and "f" or "c"), -spec[2])
    local _, failures = string.gsub(last, "f", "")
    if #last == spec[2] and failures >= spec[1] * spec[2] then
        local value = { ["until"] = now + rest, rest = rest }
        call("HSET", P .. "rule:breaker", type, cjson.encode({ value = value, actor = "", at = now, reason = "jobs failed" }))
        call("HDEL", P .. "outcomes", type)
        made.opened = true
    else
        call("HSET", P .. "outcomes", type, last)
    end
end

made.count_outcome = count_outcome
