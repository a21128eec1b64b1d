-- Changes a setting, on a server whose memory is full too: a move away from it must be able to note so. ARGV: name, value, when or "",
-- "1" with a description or "0" to keep the one before, description, the entry of the audit trail or "", "1" to remove it. The note of a setting is when, 1 or 0, and the description.
-- uses: base batch audit
allow_oom()
if ARGV[6] ~= "" then
    add_action("", ARGV[6])
end
if ARGV[7] == "1" then
    call("HDEL", P .. "setting_note", ARGV[1])
    return call("HDEL", P .. "setting", ARGV[1])
end
local rest = ARGV[4] .. " " .. ARGV[5]
if ARGV[4] == "0" then
    rest = string.match(call("HGET", P .. "setting_note", ARGV[1]) or "", "^%d* (.*)$") or rest
end
call("HSET", P .. "setting_note", ARGV[1], ARGV[3] .. " " .. rest)
return call("HSET", P .. "setting", ARGV[1], ARGV[2])
