-- Every setting but those about moving.
SELECT {s.SettingRecord} FROM mainstay.setting s WHERE s.name NOT LIKE 'move.%' ORDER BY s.name
