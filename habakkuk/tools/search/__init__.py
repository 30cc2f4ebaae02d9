"""Searching files by regular expression: with ripgrep, else with a walker of our own."""
