-- Jobs that wait for others, in the index `after`.

-- Records the parents for which a job waits.
local linked = {}
local function link(id, parents)
    for _, parent in ipairs(parents or {}) do
        later("ZADD", P .. "after", 0, "c" .. id .. "\0" .. parent)
        later("ZADD", P .. "after", 0, "p" .. parent .. "\0" .. id)
        linked[parent] = true
    end
end

-- Marks the jobs for which others wait now: their end wakes those, and they are kept until then.
local function mark_parents()
    for parent in pairs(linked) do
        local r = read_one(parent)
        if r and not r[AWAITED] then
            extend(r)[AWAITED] = true
            write(parent, r)
        end
    end
    flush()
end

-- Returns the first parent that does not exist.
local function missing_parent(ids, extras, known)
    local sent = {}
    for _, id in ipairs(ids) do
        sent[id] = true
    end
    for n, id in ipairs(ids) do
        for _, parent in ipairs(not known[id] and extras[n] and extras[n].after or {}) do
            if not sent[parent] and call("HEXISTS", P .. "job", parent) == 0 then
                return parent
            end
        end
    end
end

made.link, made.mark_parents, made.missing_parent = link, mark_parents, missing_parent
