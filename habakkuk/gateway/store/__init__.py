"""SQL of what comes in."""
