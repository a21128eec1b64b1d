-- Changes what a review asks, if it is still what the caller has read.
UPDATE mainstay.review SET due_at = :due::bigint, body = :body::text WHERE job = {seq_of_id} AND body = :was::text
