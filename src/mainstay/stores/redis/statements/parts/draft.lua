-- Accepting drafts: a flat list with `STRIDE` values each (enqueue.py writes it): id, lane, priority, timeout, keep, payload,
-- header, and as JSON the values that most drafts lack: run_at, lock, until, since (it takes the key for ever), on, terms, rules,
-- waits, start_by, after.
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
        if extra.rules or extra.start_by then
            flow().extend(r)
            r[RULES], r[START_BY] = extra.rules or false, extra.start_by or false
        end
    end
    return r
end

-- The index `terms`: a search finds a job by its key, tenant, ref, parent, tags and codes, each a term with the id behind it.
local function add_terms(r, id)
    for _, term in ipairs(r[TERMS] or {}) do
        later("ZADD", P .. "terms", 0, term .. id)
    end
end

-- Takes the key of a draft for ever, where it asks for that: the hash `key` has the job and the time, the set `keys` the order.
local function keep_key(extra, id)
    if extra.since then
        local type, key = string.match(extra.lock, "^([^:]*):(.*)$")
        later("HSET", P .. "key", extra.lock, string.format("%s %.0f", id, extra.since))
        later("ZADD", P .. "keys", 0, key .. "\0" .. type)
    end
end

-- Makes a waiting job what a newer draft asks for, with all attempts; number, token, origin, parent and codes stay. What an attempt
-- at the old work has left goes: the new work must not start where the old one stopped.
local function replace(id, list, i, extra, now)
    flush()
    local old = read_one(id)
    if not old or not string.find("qsb", old[STATE], 1, true) then
        return
    end
    keep_key(extra, id)
    index("ZREM", old, id)
    remove_terms(old, id)
    if old[RULES] and string.find(old[RULES], '"after"', 1, true) then
        flow().unlink(id)
    end
    flush()
    local r = asked(list, i, extra, old[SEQ])
    if old[AWAITED] then
        flow().extend(r)[AWAITED] = true
    end
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
    admit(r, id, r[RUN_AT] and r[RUN_AT] > now, now, extra.waits)
    add_terms(r, id)
    write(id, r)
    if extra.after then
        flow().link(id, extra.after)
    end
    later("HSET", P .. "payload", id, list[i + 5])
    for _, hash in ipairs({ "checkpoint", "progress", "details", "result" }) do
        later("HDEL", P .. hash, id)
    end
end

-- Returns the first draft that must not be accepted: its number, the job that has its key, and that job's state.
local function refused(ids, extras, known)
    local locks, made = {}, {}
    for n, id in ipairs(ids) do
        local extra = extras[n]
        if not known[id] and not made[id] and extra and extra.lock then
            local holder = locks[extra.lock] or holder_of(extra.lock)
            if not holder then
                locks[extra.lock] = id
            elseif holder ~= id and extra.on and not (extra.on == "replace" and made[holder]) then
                local r = read_one(holder)
                local state = r and r[STATE] or made[holder] and "q" or "gone"
                if extra.on == "raise" or not string.find("qsb", state, 1, true) then
                    return { n, holder, state }
                end
            end
        end
        made[id] = true
    end
end

local function decoded(list, first)
    local ids, extras, strict, children = {}, {}, false, false
    for i = first, #list, STRIDE do
        ids[#ids + 1] = list[i]
        if list[i + 7] ~= "" then
            extras[#ids] = cjson.decode(list[i + 7])
            strict = strict or extras[#ids].on ~= nil
            children = children or extras[#ids].after ~= nil
        end
    end
    return ids, extras, strict, children
end

-- Accepts the drafts from `first` on, all or none. Returns 1 per draft, or the id of the job that has its key; nil and the
-- refused draft where one must not be accepted: its number, the job with its key, and that job's state; or "missing" and the id
-- of a parent; or what `full` returns. With `skip` no caller can be told: a draft whose key is taken is left out.
local function accept(list, first, now, skip, full)
    local ids, extras, strict, children = decoded(list, first)
    local known = read(ids)
    local taken = strict and not skip and refused(ids, extras, known)
    local missing = children and not skip and flow().missing_parent(ids, extras, known)
    local too_many = not taken and not missing and full and full(ids, extras, known, list, first)
    if taken or missing or too_many then
        return nil, taken or missing and { "missing", missing } or too_many
    end
    local results, number = {}, nil
    local locks, fresh, job, payload, all = {}, {}, P .. "job", P .. "payload", P .. "ids"
    for n, id in ipairs(ids) do
        local i, extra = first + (n - 1) * STRIDE, extras[n]
        local lock = extra and extra.lock
        local holder = not known[id] and lock and (locks[lock] or holder_of(lock))
        results[n] = 1
        if holder and holder ~= id then
            results[n] = holder
            if extra.on == "replace" then
                replace(holder, list, i, extra, now)
            end
        elseif not known[id] and not holder then
            number = (number or call("INCRBY", P .. "seq", #ids) - #ids) + 1
            local r = asked(list, i, extra, string.format("%012x", number))
            known[id] = r
            if lock then
                locks[lock] = id
                later("HSET", P .. "lock", lock, id)
                keep_key(extra, id)
            end
            admit(r, id, r[RUN_AT] and r[RUN_AT] > now, now, extra and extra.waits)
            if extra then
                add_terms(r, id)
                if extra.after then
                    flow().link(id, extra.after)
                end
            end
            later("HSET", job, id, cmsgpack.pack(r))
            later("HSET", payload, id, list[i + 5])
            later("ZADD", all, 0, id)
            fresh[r[LANE]] = (fresh[r[LANE]] or 0) + 1
        end
    end
    flush()
    for lane, n in pairs(fresh) do
        tally_up(math.floor(now / 60000), lane, { enqueued = n })
    end
    if children then
        flow().mark_parents()
    end
    return results, nil
end
