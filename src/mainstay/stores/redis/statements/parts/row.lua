-- A job as record.py reads it: its id, then the fields and texts that `shape` names. A text is in a hash of its own, by id.
local function row(id, r, shape)
    local values = { id }
    for n, field in ipairs(shape.fields) do
        values[n + 1] = r[field] or false
    end
    local last = #values
    for n, hash in ipairs(shape.texts) do
        values[last + n] = call("HGET", P .. hash, id)
    end
    return values
end
