-- How often schedules were changed. ARGV: now. Returns that, and the instant of the server.
-- uses: base
return { tonumber(call("GET", P .. "schedules") or 0), instant(ARGV[1]) }
