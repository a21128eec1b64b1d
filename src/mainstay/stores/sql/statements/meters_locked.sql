-- Meters by name, locked until the end of the transaction. Served by the primary key.
SELECT m.name, m.value FROM mainstay.meter m WHERE m.name = ANY (:names::text[]) ORDER BY m.name {lock_rows}
