-- A claim of a worker with few lanes (parts/claim.lua, few.lua).
-- uses: base batch record admit notify draft update outcome take few claim
return claim()
