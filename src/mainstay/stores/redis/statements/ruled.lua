-- The rules of types and queues. ARGV: nothing. Returns them as parts/ruled.lua says.
-- uses: base admit -- rarely: lane ruled
return flow().rules_now(call("GET", P .. "ruled") or "0")
