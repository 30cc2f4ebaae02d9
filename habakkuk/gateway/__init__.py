"""Messages in: one door for every intake."""
