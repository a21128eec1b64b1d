-- Deletes jobs and everything that belongs to them: no key and no entry of an index is left.
local HASHES = { "job", "payload", "result", "children", "checkpoint", "progress", "error" }

local function remove(found)
    local lists = {}
    for id, r in pairs(found) do
        unindex(r, id)
        release(r)
        remove_terms(r, id)
        for _, hash in ipairs(HASHES) do
            later("HDEL", P .. hash, id)
        end
        later("ZREM", P .. "ids", id)
        lists[#lists + 1] = P .. "attempt:" .. id
        lists[#lists + 1] = P .. "log:" .. id
    end
    flush()
    for start = 1, #lists, PIECE do
        call("UNLINK", unpack(lists, start, math.min(start + PIECE - 1, #lists)))
    end
end
