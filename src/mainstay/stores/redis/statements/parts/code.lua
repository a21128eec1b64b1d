-- Keeps the code of an attempt's error: for the job, for the attempt, and as a term of the index `terms`. The record is not written.
local function keep_code(r, id, token, code)
    call("HSET", P .. "code", id, code)
    call("HSET", P .. "codes:" .. id, token, code)
    local term, terms = "c" .. code .. "\0", r[TERMS] or {}
    for _, known in ipairs(terms) do
        if known == term then
            return
        end
    end
    terms[#terms + 1] = term
    r[TERMS] = terms
    later("ZADD", P .. "terms", 0, term .. id)
end
