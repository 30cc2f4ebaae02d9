"""Tools: what an agent can do, under permissions."""
