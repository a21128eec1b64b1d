-- Writes updates, applies transitions, promotes due jobs and takes up to `limit` jobs for a worker, or does none of it where
-- the lease is over. ARGV: now, worker, limit, "1" where a claim that gets all of them may leave lines to a later one (turns.py),
-- what it wants (parts/few.lua or many.lua), how many attempts report, their updates (parts/update.lua), transitions (parts/outcome.lua). Returns
-- the verdicts, the instant, how long until the next job is due (false: none is scheduled, or there were enough to take), how often
-- it took jobs (they are in order if once), then the jobs (parts/take.lua); "lost" where the lease is over; "rules" where the variant
-- for jobs with rules is needed (script.py): nothing is done then.
-- uses: base batch record admit notify draft update code tally outcome few take -- rarely: lane rules examine parents breaker lines start
local WANTS, FULL = 5, 8 -- a claim for fewer jobs examines lines (turns.py)
local now, worker, limit, patient = instant(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4] == "1"
local lease = call("ZSCORE", P .. "workers", worker)
if not lease or tonumber(lease) <= now then
    return "lost"
end
if not flow and call("EXISTS", P .. "flow") == 1 then
    return "rules"
end
allow_oom()
-- Returns whether blocked jobs are to be examined.
local function pending()
    return call("EXISTS", P .. "wait:", P .. "wait:+", P .. "woken", P .. "ending") > 0
end

-- Rules matter to all jobs where lanes are left out or jobs are counted.
local ruled = flow and call("EXISTS", P .. "rule:pause", P .. "rule:breaker", P .. "depth") > 0
if not ruled then
    bounded = false
end

local next_lanes, at = lanes_wanted(WANTS)
local first, known = write_updates(ARGV, at + 1, tonumber(ARGV[at]))
local verdicts, news = apply(ARGV, first, worker, now, known)
promote(now, 500)
ruled = ruled or (made and made.opened)

-- Blocked jobs are to be examined first unless that may wait. `made`: some of those that ended or were promoted have rules.
local urgent = flow and not patient and (made or pending())
local reply, taken, denied, wake, ahead = { verdicts, now, false, 1 }, 0, 0, nil, nil
if urgent and not ruled and limit >= FULL then
    ahead = flow().take_ahead(worker, WANTS, limit, now, reply)
    patient = ahead ~= nil
end
local plainly = not ruled and (patient or not urgent)
if plainly then
    taken, denied = take(worker, next_lanes, limit - (ahead or 0), now, reply)
    taken = taken + (ahead or 0)
end
if plainly and patient and not ahead and taken == limit then
    if made then
        made.keep_touched()
    end
elseif made or ruled or urgent or (flow and patient and pending()) then
    local begun = plainly and { taken = taken, denied = denied, ahead = ahead }
    taken, reply[4], wake = flow().take_open(worker, WANTS, limit, now, reply, patient, begun)
end
if taken < limit then
    local due = call("ZRANGE", P .. "due", 0, 0, "WITHSCORES")[2]
    due = math.min(due and tonumber(due) or math.huge, wake or math.huge)
    reply[3] = due < math.huge and due - now
end
if news then -- for other workers too: they may know types that this one lacks
    notify("jobs")
end
return reply
