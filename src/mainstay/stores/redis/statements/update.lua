-- Writes notes. ARGV: notes (parts/update.lua). Answers 1 or 0 for each.
-- uses: base batch record update
return write_updates(ARGV, 1, #ARGV / 5)
