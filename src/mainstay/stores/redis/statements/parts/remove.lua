-- Deletes jobs and everything that belongs to them: no key and no entry of an index is left.
local function remove(found)
    for id, r in pairs(found) do
        index("ZREM", r, id)
        if r[AWAITED] then -- those that wait for it are told
            flow().ended[id] = true
        end
        if r[RULES] and string.find(r[RULES], '"after"', 1, true) then
            flow().unlink(id)
        end
        release(r)
        remove_terms(r, id)
        for _, hash in ipairs({ "job", "payload", "result", "children", "checkpoint", "progress", "details", "error", "code", "bulks", "asked", "fingerprint" }) do
            later("HDEL", P .. hash, id)
        end
        later("ZREM", P .. "ids", id)
        later("ZREM", P .. "review_due", id)
        later("ZREM", P .. "warned", id)
        call("UNLINK", P .. "attempt:" .. id, P .. "codes:" .. id, P .. "log:" .. id)
    end
    flush()
end
