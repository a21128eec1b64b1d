-- What a worker needs to know of jobs that it is about to claim, as one row: the numbers of each as JSON, texts joined by :mark.
-- A row per job costs a turn of the interpreter's lock each while the file is locked.
-- The payload comes by a scalar sub-select, which costs one look-up a job; a join would make SQLite sort.
SELECT json_group_array(json_array({numbers})), {texts}
FROM json_each(:seqs) c CROSS JOIN mainstay_job j ON j.seq = c.value
