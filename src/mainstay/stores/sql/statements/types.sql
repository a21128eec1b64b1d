-- Every type that was ever registered.
SELECT {kind.TypeRecord} FROM mainstay.type kind ORDER BY kind.name
