"""Tools of a toolset that is found by search where an agent has many."""
