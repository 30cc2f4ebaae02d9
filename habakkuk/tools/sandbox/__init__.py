"""Where an agent's commands run: one module a sandbox, found by its name."""
