-- The one door out of `running`: a list of seq, token, instant, expiry and extra, five values each (claim.py writes it). After
-- a failover to a replica that lagged behind, a token is given again: then the worker tells two attempts apart.
-- An empty extra means that a job of the worker that is named once completed, and no more. Otherwise it is JSON: worker, state,
-- attempt, crashes, counted (parts/tally.lua), and where there are any crashed (1), run_at, finished, reason, record, error, code, result, children (a flat list
-- of drafts), kept (children of a job in review, as text), fingerprint (of a dead job), review and due (what it asks, and when something is due), trial (completed or failed, for a breaker).
-- A verdict is one letter: s stored, a already, c cancelling, l lost.
local FINAL = { x = true, d = true }

local function verdict(r, seq, token, worker, state)
    if not r or r[TOKEN] ~= token or r[SEQ] ~= seq then
        return "l"
    end
    if r[STATE] == "r" then
        if r[WORKER] ~= worker then
            return "l"
        end
        return r[CANCEL_AT] and not FINAL[state] and "c" or "s"
    end
    if r[RULES] and (state == "q" or state == "s") and string.find("qsb", r[STATE], 1, true) then -- its rules decide how it waits
        return "a"
    end
    return (r[STATE] == state or (r[STATE] == "q" and state == "s")) and "a" or "l"
end

local function move(r, id, expires, extra)
    r[ATTEMPT] = extra.attempt
    r[CRASHES] = math.min(extra.crashes, r[CRASHES] + (extra.crashed or 0)) -- one may have been retracted meanwhile
    if extra.finished then
        finish(r, id, extra.state, extra.finished, expires, extra.reason or false)
    else
        index("ZREM", r, id)
        r[WORKER], r[RUN_AT], r[REASON] = false, extra.run_at or false, extra.reason or false
        if extra.state == "v" then
            r[STATE] = "v"
            index("ZADD", r, id)
        else
            admit(r, id, extra.state == "s", r[ORD], r[RULES] and "") -- a released job keeps its place in the order
        end
    end
    if extra.fingerprint then
        later("HSET", P .. "fingerprint", id, extra.fingerprint)
    end
    if extra.record then
        call("RPUSH", P .. "attempt:" .. id, extra.record)
    end
    if extra.error then
        later("HSET", P .. "error", id, extra.error)
    end
    if extra.code then
        keep_code(r, id, r[TOKEN], extra.code)
    elseif extra.error then
        call("HDEL", P .. "code", id) -- that of an earlier attempt
    end
    if extra.result then
        later("HSET", P .. "result", id, extra.result)
    end
    if extra.kept then
        later("HSET", P .. "children", id, extra.kept)
    end
    if extra.review then
        later("HSET", P .. "asked", id, extra.review)
        change(extra.due and "ZADD" or "ZREM", P .. "review_due", extra.due, id)
    end
end

-- Applies the transitions from `first` to the end of the list. Some records are `known`. Returns the verdicts, and whether there are
-- new jobs to claim.
local function apply(list, first, worker, now, known)
    local ids, unread, extras, letters, born = {}, {}, {}, {}, {}
    for n = 1, (#list - first + 1) / 5 do
        local i = first + (n - 1) * 5
        local id = string.sub(list[i], SEQ_LENGTH + 1)
        ids[n] = id
        if not known[id] then
            unread[#unread + 1] = id
        end
        extras[n] = list[i + 4] ~= "" and cjson.decode(list[i + 4])
    end
    local found, news = read(unread), false
    for n, id in ipairs(ids) do
        local i, r, extra = first + (n - 1) * 5, known[id] or found[id], extras[n]
        local seq, token = string.sub(list[i], 1, SEQ_LENGTH), tonumber(list[i + 1])
        local letter = verdict(r, seq, token, extra and extra.worker or worker, extra and extra.state or "c")
        letters[n] = letter
        if letter == "s" then
            local trial = r[RULES] and (extra and extra.trial or not extra and "completed")
            local breaker = trial and flow().rules_of(r[RULES]).breaker
            if breaker then
                flow().count_outcome(r, breaker, trial == "failed", now)
            end
            local expires, at = tonumber(list[i + 3]) or false, tonumber(list[i + 2])
            if extra then
                count_text(r, at, extra.counted)
                move(r, id, expires, extra)
                news = news or extra.state == "q"
                for _, value in ipairs(extra.children or {}) do
                    born[#born + 1] = value
                end
            else
                count_completed(r, at)
                finish(r, id, "c", at, expires, false)
            end
            write(id, r)
        end
    end
    flush()
    write_tallies()
    if #born > 0 then
        accept(born, 1, now, true)
    end
    return table.concat(letters), news or #born > 0
end
