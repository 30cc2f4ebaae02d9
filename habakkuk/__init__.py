"""Habakkuk's domain: every rule of the agent, without Flask and without a Celery app."""
