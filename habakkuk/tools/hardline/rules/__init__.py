"""The kinds of commands that are refused: one module a kind, with `judge` for a call.

A module may also have `judge_write`, for a file that is written through a redirect, and
`judge_tree`, for a script as a whole. Each returns what the command would do, None for nothing.
"""
