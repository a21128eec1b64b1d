-- A running job as its claim answered it: seq and id, meta, payload, attempt, crashes, token, ord, then when it started,
-- whether it was asked to stop, and by whom it is held.
local function row(r, id, payload)
    return {
        r[SEQ] .. id, r[META], payload, r[ATTEMPT], r[CRASHES], r[TOKEN], r[ORD], r[STARTED], r[CANCEL] and 1 or 0, r[WORKER],
    }
end
