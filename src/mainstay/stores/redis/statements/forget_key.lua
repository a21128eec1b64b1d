-- Frees a key that was taken for ever. ARGV: as parts/audit.lua has the first four; action, type, key. Returns the job that
-- had it, or "".
-- uses: base batch record admit audit
allow_oom()
local action, type, key = ARGV[5], ARGV[6], ARGV[7]
local value = call("HGET", P .. "key", type .. ":" .. key)
if not value then
    return ""
end
local job = string.match(value, "^%S+")
call("HDEL", P .. "key", type .. ":" .. key)
call("ZREM", P .. "keys", key .. "\0" .. type)
audit(action, job, { type = type, key = key })
return job
