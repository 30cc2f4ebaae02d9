"""The SQL of conversations, one module a table group."""
