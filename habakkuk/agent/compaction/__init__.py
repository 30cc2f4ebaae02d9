"""Long sessions: a summary stands for what is old, and nothing of the transcript is rewritten."""
