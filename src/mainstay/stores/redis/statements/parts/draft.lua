-- Accepting drafts: a flat list, `STRIDE` values each (enqueue.py writes it):
-- id, lane, priority, timeout, keep, payload, meta, extra: JSON of run_at, lock, until, on, terms where there are any.
local STRIDE = 8

-- The record that a draft asks for, in one go: a table that grows costs as much as all the rest.
local function asked(list, i, extra, now, seq)
    local run_at = extra.run_at or false
    local waits = run_at and run_at > now
    return {
        waits and "s" or "q", 0, 0, 0, seq, tonumber(list[i + 2]), waits and run_at or now, list[i + 1],
        tonumber(list[i + 3]) or false, tonumber(list[i + 4]) or false, false, run_at, false, false, false, false,
        extra.lock or false, extra["until"] or false, extra.lock ~= nil, false, extra.terms or false, list[i + 6],
    }
end

-- What a job is found by: key, tenant, ref, parent, tags, each as a term with the id behind it in the index `terms`.
local function index(r, id)
    for _, term in ipairs(r[TERMS] or {}) do
        later("ZADD", P .. "terms", 0, term .. id)
    end
end

-- The lines of a job's meta that never change: when it was made, and its parent.
local function origin(meta)
    return string.match(meta, "^[^\n]*\n([^\n]*)\n")
end

-- A waiting job becomes what a newer draft asks for, with fresh attempts; its number, token, origin and parent stay.
local function replace(id, list, i, extra, now)
    flush()
    local old = read_one(id)
    if not old or (old[STATE] ~= "q" and old[STATE] ~= "s") then
        return
    end
    leave(old, id)
    unindex(old, id)
    flush()
    local r = asked(list, i, extra, now, old[SEQ])
    local terms = {}
    for _, term in ipairs(old[TERMS] or {}) do
        if string.sub(term, 1, 1) == "p" then
            terms[#terms + 1] = term
        end
    end
    for _, term in ipairs(r[TERMS] or {}) do
        if string.sub(term, 1, 1) ~= "p" then
            terms[#terms + 1] = term
        end
    end
    r[TERMS] = #terms > 0 and terms
    r[TOKEN], r[STARTED], r[LOCK], r[HELD] = old[TOKEN], old[STARTED], old[LOCK], old[HELD]
    local head, rare = string.match(r[META], "^([^\n]*)\n[^\n]*\n(.*)$")
    r[META] = head .. "\n" .. origin(old[META]) .. "\n" .. rare
    enter(r, id)
    index(r, id)
    write(id, r)
    later("HSET", P .. "payload", id, list[i + 5])
end

-- The first draft that may not be accepted: its number, who has its key, and that job's state. Looks, and writes nothing.
local function refused(ids, extras, known)
    local locks, made = {}, {}
    for n, id in ipairs(ids) do
        local extra = extras[n]
        if not known[id] and not made[id] and extra and extra.lock then
            local holder = locks[extra.lock] or call("HGET", P .. "lock", extra.lock)
            if not holder then
                locks[extra.lock] = id
            elseif extra.on and not (extra.on == "replace" and made[holder]) then
                local r = read_one(holder)
                local state = r and r[STATE] or "q"
                if extra.on == "raise" or (state ~= "q" and state ~= "s") then
                    return { n, holder, state }
                end
            end
        end
        made[id] = true
    end
end

local function decoded(list, first)
    local ids, extras, strict = {}, {}, false
    for i = first, #list, STRIDE do
        ids[#ids + 1] = list[i]
        if list[i + 7] ~= "" then
            extras[#ids] = cjson.decode(list[i + 7])
            strict = strict or extras[#ids].on ~= nil
        end
    end
    return ids, extras, strict
end

-- Accepts drafts from `first` on, all or none: per draft 1 or the id of the job that has its key; nil and who stands in
-- the way when one must not be. `alone`: nobody is there to be told, so what has a key that is taken is left out.
local function accept(list, first, now, alone)
    local ids, extras, strict = decoded(list, first)
    local known = read(ids)
    local taken = strict and not alone and refused(ids, extras, known)
    if taken then
        return nil, taken
    end
    local answers, number, none = {}, nil, {}
    local locks, job, payload, all = {}, P .. "job", P .. "payload", P .. "ids"
    for n, id in ipairs(ids) do
        local i, extra = first + (n - 1) * STRIDE, extras[n] or none
        local holder = not known[id] and extra.lock and (locks[extra.lock] or call("HGET", P .. "lock", extra.lock))
        answers[n] = 1
        if holder then
            answers[n] = holder
            if extra.on == "replace" then
                replace(holder, list, i, extra, now)
            end
        elseif not known[id] then
            number = (number or call("INCRBY", P .. "seq", #ids) - #ids) + 1
            local r = asked(list, i, extra, now, string.format("%012x", number))
            known[id] = r
            if extra.lock then
                locks[extra.lock] = id
                later("HSET", P .. "lock", extra.lock, id)
            end
            enter(r, id)
            if extra.terms then
                index(r, id)
            end
            later("HSET", job, id, cmsgpack.pack(r))
            later("HSET", payload, id, list[i + 5])
            later("ZADD", all, 0, id)
        end
    end
    flush()
    return answers, nil
end
