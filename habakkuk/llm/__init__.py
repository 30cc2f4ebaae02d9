"""Models: neutral types, the router and one adapter for each wire format."""
