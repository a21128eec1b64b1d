-- Keeps the children of a job in review beside the result that it proposes.
UPDATE mainstay.result SET children = :children::text WHERE job = :seq::bigint
