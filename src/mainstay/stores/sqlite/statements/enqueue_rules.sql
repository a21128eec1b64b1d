-- The rules of types and queues: mostly none. Served by the primary key: these kinds sort last, and a list would be sorted each time.
SELECT kind, name, value FROM mainstay_rule WHERE kind >= 'queue'
