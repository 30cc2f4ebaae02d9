"""Running Habakkuk: its databases, its processes, and what an operator asks about them."""
