-- What claims leave out, breakers and pauses: mostly nothing. Served by the primary key; a list of kinds would be sorted each time.
SELECT kind, name, value, actor, at, reason FROM mainstay_rule WHERE kind < 'queue' AND kind <> 'limit'
