-- What is paused. Served by the primary key.
SELECT r.name FROM mainstay.rule r WHERE r.kind = 'pause'
