-- Returns the queue and the type of a lane. Its name is the byte length of the queue's name, the queue and the type, with
-- colons in between.
local function split(lane)
    local colon = string.find(lane, ":", 1, true)
    local last = colon + tonumber(string.sub(lane, 1, colon - 1))
    return string.sub(lane, colon + 1, last), string.sub(lane, last + 2)
end

-- Returns the fingerprint of a job of this lane that did not die of an error, by the normalised reason of its end: see core/fingerprint.py.
local function reason_print(lane, reason)
    local _, type = split(lane)
    return string.sub(redis.sha1hex(type .. "\n\n" .. reason .. "\n"), 1, 12)
end
