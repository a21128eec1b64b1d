-- Records a delivery. ARGV: now, endpoint, name, values, 1 where it failed, the rule of the endpoint as it was read, the number of failures
-- that disables it ("": none does), the instant since which they count, for how many ms they do, how many deliveries are kept, the
-- rule of the disabled endpoint and its line of the audit trail. Returns "changed", nothing written, where the rule is another by now;
-- "disabled" where this delivery has disabled it.
-- uses: base batch record admit audit
allow_oom()
local now, endpoint, name, failed = instant(ARGV[1]), ARGV[2], ARGV[3], ARGV[5] == "1"
if failed and (call("HGET", P .. "rule:webhook", endpoint) or "") ~= ARGV[6] then
    return "changed"
end
local values, order, failures = P .. "delivery:" .. endpoint, P .. "delivered:" .. endpoint, P .. "failed:" .. endpoint
if call("HSET", values, name, ARGV[4]) == 1 then
    call("ZADD", order, now, name)
    call("ZADD", P .. "deliveries", 0, endpoint)
    if failed then
        call("ZADD", failures, now, name)
    end
end
call("ZREMRANGEBYSCORE", failures, "-inf", now - tonumber(ARGV[9]))
if call("ZCARD", order) > tonumber(ARGV[10]) then
    call("HDEL", values, call("ZPOPMIN", order)[1])
end
local counted = math.max(tonumber(ARGV[8]), now - tonumber(ARGV[9]))
if failed and ARGV[7] ~= "" and call("ZCOUNT", failures, counted, "+inf") >= tonumber(ARGV[7]) then
    call("HSET", P .. "rule:webhook", endpoint, ARGV[11])
    add_action("", ARGV[12])
    return "disabled"
end
return ""
