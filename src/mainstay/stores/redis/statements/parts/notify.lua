-- Wakes the workers that wait. Who does not wait just now sees by the number of rings that it missed one.
-- `armed` names those that block on their marker, `bell:<worker>`; a marker that nobody takes away goes by itself.
local function notify(what)
    call("HINCRBY", P .. "rings", what, 1)
    local armed = call("SMEMBERS", P .. "armed")
    if #armed == 0 then
        return
    end
    local counts = call("HMGET", P .. "rings", "jobs", "cancel")
    call("DEL", P .. "armed")
    for _, worker in ipairs(armed) do
        local bell = P .. "bell:" .. worker
        call("RPUSH", bell, what .. " " .. (counts[1] or "0") .. " " .. (counts[2] or "0"))
        call("PEXPIRE", bell, 60000)
    end
end
