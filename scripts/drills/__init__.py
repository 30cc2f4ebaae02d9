"""The drill: real processes, a fake model, faults on purpose, checks from outside."""
