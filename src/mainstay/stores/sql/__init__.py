"""What SQLite and PostgreSQL share: operations written once, in one spelling that each engine translates."""
