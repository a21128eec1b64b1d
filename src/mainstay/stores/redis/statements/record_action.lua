-- Adds an entry to the audit trail. ARGV: the id of its job or "", the entry as packed (parts/restore.lua).
-- uses: base batch record admit draft code audit restore -- rarely: lane rules
import_action(ARGV[1], ARGV[2])
