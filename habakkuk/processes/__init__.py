"""Commands that stay in the background: their rows, their output, and what may be done to them."""
