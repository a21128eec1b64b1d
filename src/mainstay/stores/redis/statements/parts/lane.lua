-- The type in the name of a lane: the length of the queue's name, the queue, the type, with colons in between.
local function type_of(lane)
    local length = string.match(lane, "^%d+")
    return string.sub(lane, #length + tonumber(length) + 3)
end
