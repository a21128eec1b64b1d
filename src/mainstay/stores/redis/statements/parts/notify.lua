-- Wakes the waiting workers. A worker that does not wait just now sees by the counts in `rings` that it missed one.
-- `armed` names the workers that block on their marker, `bell:<worker>`; a marker that nobody reads expires.

-- Returns how many notifications there were so far, as "jobs cancel".
local function notifications()
    local counts = call("HMGET", P .. "rings", "jobs", "cancel")
    return (counts[1] or "0") .. " " .. (counts[2] or "0")
end

local function set_marker(worker, what, counts)
    local marker = P .. "bell:" .. worker
    call("RPUSH", marker, what .. " " .. counts)
    call("PEXPIRE", marker, 60000)
end

local function notify(what)
    call("HINCRBY", P .. "rings", what, 1)
    local armed = call("SMEMBERS", P .. "armed")
    if #armed == 0 then
        return
    end
    local counts = notifications()
    call("DEL", P .. "armed")
    for _, worker in ipairs(armed) do
        set_marker(worker, what, counts)
    end
end
