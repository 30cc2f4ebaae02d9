"""The inspector's page."""
