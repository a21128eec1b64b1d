-- A claim on wake of a worker with few lanes (parts/claim_on_wake.lua, few.lua).
-- uses: base batch record admit notify take few claim_on_wake
return claim_on_wake()
