"""The SQLite engine: one file, one write connection a process, WAL, durable by default."""
