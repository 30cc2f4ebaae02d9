"""Habakkuk's domain: every rule of the agent, without Flask and without a Celery app."""

__version__ = "0.1.0"
