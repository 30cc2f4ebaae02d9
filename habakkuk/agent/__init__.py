"""The turn loop and what it is made of."""
