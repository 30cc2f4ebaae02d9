"""The processes that run jobs: the life cycle, no rules."""
