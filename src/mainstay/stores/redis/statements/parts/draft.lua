-- Accepting drafts: a flat list with `STRIDE` values each (enqueue.py writes it): id, lane, priority, timeout, keep, payload,
-- header, and as JSON the values that most drafts lack: run_at, lock, until, on, terms.
local STRIDE = 8

-- Returns the record that a draft asks for. It has its full size from the start: growing the table value by value would cost
-- as much as everything else.
local function asked(list, i, extra, seq)
    local r = { BLANK }
    r[SEQ], r[LANE], r[PRIORITY], r[HEADER] = seq, list[i + 1], tonumber(list[i + 2]), list[i + 6]
    r[TIMEOUT], r[KEEP] = tonumber(list[i + 3]) or false, tonumber(list[i + 4]) or false
    if extra then
        r[RUN_AT], r[TERMS] = extra.run_at or false, extra.terms or false
        r[LOCK], r[LOCK_UNTIL], r[HELD] = extra.lock or false, extra["until"] or false, extra.lock ~= nil
    end
    return r
end

-- The index `terms`: a search finds a job by its key, tenant, ref, parent, tags and codes, each a term with the id behind it.
local function add_terms(r, id)
    for _, term in ipairs(r[TERMS] or {}) do
        later("ZADD", P .. "terms", 0, term .. id)
    end
end

-- Makes a waiting job what a newer draft asks for, with all attempts; number, token, origin, parent and codes stay. What an attempt
-- at the old work has left goes: the new work must not start where the old one stopped.
local function replace(id, list, i, extra, now)
    flush()
    local old = read_one(id)
    if not old or (old[STATE] ~= "q" and old[STATE] ~= "s") then
        return
    end
    index("ZREM", old, id)
    remove_terms(old, id)
    flush()
    local r = asked(list, i, extra, old[SEQ])
    local terms = {}
    for n, from in ipairs({ old[TERMS] or {}, r[TERMS] or {} }) do
        for _, term in ipairs(from) do
            terms[#terms + 1] = (string.find(term, "^[pc]") ~= nil) == (n == 1) and term or nil
        end
    end
    r[TERMS] = #terms > 0 and terms
    r[TOKEN], r[STARTED_AT], r[LOCK], r[HELD] = old[TOKEN], old[STARTED_AT], old[LOCK], old[HELD]
    local policy, rest = string.match(r[HEADER], "^([^\n]*)\n[^\n]*\n(.*)$")
    r[HEADER] = policy .. "\n" .. string.match(old[HEADER], "^[^\n]*\n([^\n]*)\n") .. "\n" .. rest
    admit(r, id, r[RUN_AT] and r[RUN_AT] > now, now)
    add_terms(r, id)
    write(id, r)
    later("HSET", P .. "payload", id, list[i + 5])
    for _, hash in ipairs({ "checkpoint", "progress", "result" }) do
        later("HDEL", P .. hash, id)
    end
end

-- Returns the first draft that must not be accepted: its number, the job that has its key, and that job's state.
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

-- Accepts the drafts from `first` on, all or none. Returns 1 per draft, or the id of the job that has its key; nil and the
-- refused draft where one must not be accepted. With `skip` no caller can be told: a draft whose key is taken is left out.
local function accept(list, first, now, skip)
    local ids, extras, strict = decoded(list, first)
    local known = read(ids)
    local taken = strict and not skip and refused(ids, extras, known)
    if taken then
        return nil, taken
    end
    local results, number = {}, nil
    local locks, job, payload, all = {}, P .. "job", P .. "payload", P .. "ids"
    for n, id in ipairs(ids) do
        local i, extra = first + (n - 1) * STRIDE, extras[n]
        local lock = extra and extra.lock
        local holder = not known[id] and lock and (locks[lock] or call("HGET", P .. "lock", lock))
        results[n] = 1
        if holder then
            results[n] = holder
            if extra.on == "replace" then
                replace(holder, list, i, extra, now)
            end
        elseif not known[id] then
            number = (number or call("INCRBY", P .. "seq", #ids) - #ids) + 1
            local r = asked(list, i, extra, string.format("%012x", number))
            known[id] = r
            if lock then
                locks[lock] = id
                later("HSET", P .. "lock", lock, id)
            end
            admit(r, id, r[RUN_AT] and r[RUN_AT] > now, now)
            if extra then
                add_terms(r, id)
            end
            later("HSET", job, id, cmsgpack.pack(r))
            later("HSET", payload, id, list[i + 5])
            later("ZADD", all, 0, id)
        end
    end
    flush()
    return results, nil
end
