"""Tools whose effects can be counted from outside."""
