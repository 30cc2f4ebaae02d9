"""Configuration: the strict config.yaml, the environment and the files of one home."""
