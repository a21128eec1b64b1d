-- Deletes jobs and everything that belongs to them: no key and no entry of an index is left.
local function remove(found)
    for id, r in pairs(found) do
        index("ZREM", r, id)
        release(r)
        remove_terms(r, id)
        for _, hash in ipairs({ "job", "payload", "result", "children", "checkpoint", "progress", "error", "code", "bulks" }) do
            later("HDEL", P .. hash, id)
        end
        later("ZREM", P .. "ids", id)
        call("UNLINK", P .. "attempt:" .. id, P .. "codes:" .. id, P .. "log:" .. id)
    end
    flush()
end
