"""One module a family of models. Each has `MODELS`: patterns of names with what is known of them.

A pattern meets the beginning of a plain name (see `habakkuk.llm.profiles.models`); in a module the
first one that fits wins, and no two modules share a name.
"""
