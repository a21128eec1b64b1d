-- Every setting but those about moving.
SELECT name, value FROM mainstay.setting WHERE name NOT LIKE 'move.%' ORDER BY name
