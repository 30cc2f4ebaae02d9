"""Searching the web: back-ends, one module each, and the chain that asks one after the other."""
