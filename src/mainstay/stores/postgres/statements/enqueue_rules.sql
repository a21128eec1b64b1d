-- The rules of types and queues: mostly none. Served by the primary key.
SELECT kind, name, value FROM mainstay.rule WHERE kind IN ('queue', 'type')
