-- Accepts jobs, all or none. ARGV: now, the version of the rules of types and queues that the drafts follow, then drafts
-- (parts/draft.lua). Returns how many where all are new or were sent before; otherwise per draft 1 or the id of the job that has its
-- key; or a word and what was refused: "taken" with a draft and the job that has its key, "missing" with a parent, "full" with a
-- queue (parts/depth.lua); or "rules", where the drafts have to follow others (parts/ruled.lua),
-- and alone where the variant for rules is needed (script.py), which drafts with rules and those that replace jobs need always.
-- uses: base batch record admit notify draft -- rarely: lane rules examine parents depth ruled
local version, full = call("GET", P .. "ruled"), nil
if not version then
    bounded = false -- no queue ever had a rule
elseif not flow then
    return { "rules" }
else
    if version ~= ARGV[2] and flow().concerned(3) then
        return flow().rules_now(version)
    end
    full = call("EXISTS", P .. "depth") == 1 and flow().refused_by_depth or nil
end
local now = instant(ARGV[1])
local results, refusal = accept(ARGV, 3, now, false, full)
if refusal then
    return type(refusal[1]) == "string" and refusal or { "taken", unpack(refusal) }
end
if made then
    made.settle(now, #results) -- as many as there are drafts: of a fair queue, others would wait behind all that came before
end
notify("jobs")
for n = 1, #results do
    if results[n] ~= 1 then
        return results
    end
end
return #results
