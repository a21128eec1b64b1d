-- What a worker needs to know of jobs that it is about to claim, as one row: a list of numbers per column as JSON, texts
-- joined by :mark. A row per job costs twice as much, and a turn of the interpreter's lock each while the file is locked.
-- The payload comes by a scalar sub-select, which costs one look-up a job; a join would make SQLite sort.
SELECT '[' || {numbers} || ']', {texts}
FROM (SELECT {columns} FROM json_each(:seqs) c CROSS JOIN mainstay_job j ON j.seq = c.value)
