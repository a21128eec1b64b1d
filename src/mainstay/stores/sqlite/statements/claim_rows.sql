-- What a worker needs to know of jobs that it is about to claim, as one row: a list per column as JSON, texts joined by a mark.
-- A row per job costs a turn of the interpreter's lock each while the file is locked; a list per job costs more than one per column.
-- The payload comes by a scalar sub-select, which costs one look-up a job; a join would make SQLite sort.
SELECT '[[' || {numbers} || ']]', {texts}
FROM {jobs} c CROSS JOIN mainstay_job j ON j.seq = c.seq
