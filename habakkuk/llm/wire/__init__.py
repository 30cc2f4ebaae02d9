"""What the wire formats share: the exchange, its events, and the pieces of an answer."""
