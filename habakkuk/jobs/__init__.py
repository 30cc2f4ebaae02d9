"""Durable jobs: rows in PostgreSQL that the Runner claims, guards and ends."""
