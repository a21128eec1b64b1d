-- Changes a setting, on a server whose memory is full too: whoever moves away from it must be able to say so.
-- ARGV: name, value.
-- uses: base batch
allow_oom()
return call("HSET", P .. "setting", ARGV[1], ARGV[2])
