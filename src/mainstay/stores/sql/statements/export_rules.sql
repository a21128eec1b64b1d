-- Every rule.
SELECT {r.RuleRecord} FROM mainstay.rule r ORDER BY r.kind, r.name
