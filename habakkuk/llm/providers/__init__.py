"""One package for each wire format; the registry finds them by their names."""
