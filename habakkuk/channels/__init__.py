"""The chat platforms: one folder each, found by its manifest and never listed."""
