"""Finding tools: what an agent gets in place of a list that would be too long to send."""
