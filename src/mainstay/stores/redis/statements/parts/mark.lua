-- How far a move into this store is. It continues only from where the mover expects it to be, so two of them cannot mix.
local function onward(was, mark)
    if call("HGET", P .. "setting", "move.mark") ~= was then
        return false
    end
    call("HSET", P .. "setting", "move.mark", mark)
    return true
end
