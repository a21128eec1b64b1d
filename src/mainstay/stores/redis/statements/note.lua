-- Writes notes. ARGV: notes (parts/note.lua). Answers 1 or 0 for each.
-- uses: base batch record note
return write_notes(ARGV, 1, #ARGV / 5)
