"""Tools that leave traces outside the database, for tests and drills."""
