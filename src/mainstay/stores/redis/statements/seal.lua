-- Marks an installation as encrypted; see `stores/schema.py`.
-- uses: base
if tonumber(call("HGET", P .. "migration", "readable_from") or "0") < 1000000 then
    call("HINCRBY", P .. "migration", "readable_from", 1000000)
end
return 1
