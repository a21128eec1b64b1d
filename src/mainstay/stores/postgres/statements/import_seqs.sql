-- Numbers for new jobs.
SELECT nextval('mainstay.job_seq') FROM unnest(:ids::text[])
