"""Begin a channel: its folder, its sample for the contract suite, and its page."""
