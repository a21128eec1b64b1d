-- Up to which instant new jobs are counted.
SELECT n FROM mainstay.tally WHERE minute = 0 AND type = '' AND name = 'enqueued'
