"""Commands that nobody can allow. A guard against a confused or misled model, and no sandbox.

`check.hardline` is the one entrance. `reader` makes a script a tree, `runner` follows it as a shell
would without running anything, `words` says what a word becomes, `wrappers` what a program runs in
its turn, and each module of `rules` knows one kind of command.
"""
