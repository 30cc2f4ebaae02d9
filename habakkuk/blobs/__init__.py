"""Content-addressed files for what is too large for a row."""
