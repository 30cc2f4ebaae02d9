"""Taking back what a turn changed, while no turn works in the workspace."""
