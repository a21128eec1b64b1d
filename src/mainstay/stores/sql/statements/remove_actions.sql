-- Deletes lines of the audit trail.
DELETE FROM mainstay.action WHERE n = ANY (:ns::bigint[])
