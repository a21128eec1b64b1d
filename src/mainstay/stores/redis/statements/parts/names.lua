-- The states as people and the audit trail know them.
local NAMES = {
    q = "queued", s = "scheduled", b = "blocked", r = "running", v = "review", c = "completed", x = "cancelled", d = "dead",
}
