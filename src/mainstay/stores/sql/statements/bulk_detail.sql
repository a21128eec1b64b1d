-- Changes what a bulk action has done so far. Served by the index action_bulk.
UPDATE mainstay.action SET detail = :detail::text WHERE bulk = :bulk::text
