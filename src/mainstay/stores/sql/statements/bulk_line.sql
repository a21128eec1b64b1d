-- What a bulk action has done so far, locked. Served by the index action_bulk.
SELECT a.detail FROM mainstay.action a WHERE a.bulk = :bulk::text {lock_rows}
