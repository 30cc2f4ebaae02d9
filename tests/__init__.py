"""The tests. Only this folder is a package: those below are found by their path."""
