"""The live view of running turns: over Redis, capped, and never the truth."""
