-- A claim of a worker with many lanes (parts/claim.lua, many.lua).
-- uses: base batch record admit notify draft update outcome take lane many claim
return claim()
