"""PostgreSQL, the only truth: the engine, the tables and their migrations."""
