"""Doubles of other systems, over real sockets where the wire is what is tested."""
