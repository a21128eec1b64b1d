-- A claim on wake of a worker with many lanes (parts/claim_on_wake.lua, many.lua).
-- uses: base batch record admit notify take lane many claim_on_wake
return claim_on_wake()
