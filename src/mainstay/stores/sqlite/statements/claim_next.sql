-- The first :limit jobs of one queue, in order, as one row: a list of numbers per column as JSON, texts joined by :mark.
-- A row a job would cost twice as much, and a turn of the interpreter's lock each while the file is locked. One walk
-- over mainstay_job_claim: only what may run now is queued, so nothing is skipped but types this worker does not know.
-- The payload comes by a scalar sub-select, which costs one look-up a job; a join would make SQLite sort.
SELECT '[' || group_concat(seq) || ']',
       '[[' || group_concat(attempt) || '],[' || group_concat(max_attempts) || '],[' || group_concat(crashes)
       || '],[' || group_concat(token) || '],[' || group_concat(timeout) || '],[' || group_concat(keep)
       || '],[' || group_concat(backoff) || '],[' || group_concat(created_at) || '],[' || group_concat(rank)
       || '],[' || group_concat(ord) || ']]',
       group_concat(id, :mark), group_concat(type, :mark), group_concat(payload, :mark)
FROM (
    SELECT seq, attempt + 1 AS attempt, max_attempts, crashes, token + 1 AS token, coalesce(timeout, 'null') AS timeout,
           coalesce(keep, 'null') AS keep, CASE WHEN backoff IS NULL THEN 'null' ELSE json_quote(backoff) END AS backoff, created_at, -priority AS rank, ord,
           id, type, coalesce((SELECT payload FROM mainstay_body WHERE job = seq), '') AS payload
    FROM mainstay_job
    WHERE state = 'queued' AND queue = :queue AND type IN (SELECT value FROM json_each(:types))
    ORDER BY priority DESC, ord, seq
    LIMIT :limit
)
