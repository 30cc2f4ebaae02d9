"""The service that keeps background processes: it starts them, passes on, and tells their ends."""
