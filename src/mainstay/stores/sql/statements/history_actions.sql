-- What operators did to jobs by themselves, in order; the last column is its place. Served by the index action_job: by the sum no walk along the primary key is sorted.
SELECT {a.ActionRecord}, a.n FROM mainstay.action a WHERE a.job IS NOT NULL AND a.job = ANY (:ids::text[]) ORDER BY a.n + 0
