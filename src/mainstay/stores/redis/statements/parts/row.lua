-- Jobs as record.py reads them: a row has the id, then the fields and texts that `shape` names. A text is in a hash of its
-- own, by id. Returns a row for each of the ids that exists, in the order given, and how many ids were looked at: all, unless
-- the texts have more than `enough` bytes before.
local function rows(ids, shape, enough)
    local found, all, size = read(ids), {}, 0
    for n, id in ipairs(ids) do
        if found[id] then
            local values = { id }
            for k, field in ipairs(shape.fields) do
                values[k + 1] = found[id][field] or false
            end
            local last = #values
            for k, hash in ipairs(shape.texts) do
                local text = call("HGET", P .. hash, id)
                values[last + k] = text
                size = size + (text and #text or 0)
            end
            all[#all + 1] = values
        end
        if enough and size > enough then
            return all, n
        end
    end
    return all, #ids
end
