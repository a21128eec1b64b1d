-- Changes a setting, on a server whose memory is full too: a move away from it must be able to note so. ARGV: name, value.
-- uses: base batch
allow_oom()
return call("HSET", P .. "setting", ARGV[1], ARGV[2])
