-- Marks an installation as encrypted; see `stores/schema.py`.
UPDATE mainstay_schema SET readable_from = readable_from + 1000000 WHERE readable_from < 1000000
