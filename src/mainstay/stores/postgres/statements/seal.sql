-- Marks an installation as encrypted; see `stores/schema.py`.
UPDATE mainstay.schema_version SET readable_from = readable_from + 1000000 WHERE readable_from < 1000000
