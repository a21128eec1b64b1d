-- Whether neither the types nor the queues of the drafts have rules; one look-up for all drafts.
(:ruled::boolean OR NOT EXISTS (
    SELECT 1 FROM mainstay.rule r
    WHERE (r.kind = 'type' AND r.name = ANY (:type::text[])) OR (r.kind = 'queue' AND r.name = ANY (:queue::text[]))
))
