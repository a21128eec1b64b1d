-- How far a move into this store is: it goes on only from where the mover thinks it is, so two of them cannot mix.
local function onward(was, mark)
    if call("HGET", P .. "setting", "move.mark") ~= was then
        return false
    end
    call("HSET", P .. "setting", "move.mark", mark)
    return true
end
