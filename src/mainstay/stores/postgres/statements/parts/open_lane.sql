-- Whether lane `l` is neither paused nor at rest. A claim that does not look at rules takes nothing if there is something to look at:
-- it would pass over jobs that come first.
(:ruled::boolean OR NOT {ruled} AND NOT EXISTS (
    SELECT 1 FROM mainstay.rule r WHERE r.kind IN ('breaker', 'pause')
      AND r.kind || ' ' || r.name IN ('pause all', 'pause queue:' || l.queue, 'pause type:' || l.type, 'breaker ' || l.type)
))
