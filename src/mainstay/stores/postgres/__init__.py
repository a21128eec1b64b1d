"""The PostgreSQL engine, on psycopg 3."""
