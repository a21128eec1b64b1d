-- Bulk actions by their ids; the last column is their place. Served by the index action_bulk.
SELECT {a.ActionRecord}, a.n FROM mainstay.action a WHERE a.bulk = ANY (:bulks::text[])
