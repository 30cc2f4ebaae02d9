"""Patches: two written forms read into one, and put on texts in memory before any is written."""
