-- The rules of types and queues: mostly none. Served by the primary key: a list of kinds would be sorted each time.
SELECT kind, name, value FROM mainstay_rule WHERE kind = 'queue'
UNION ALL SELECT kind, name, value FROM mainstay_rule WHERE kind = 'type'
