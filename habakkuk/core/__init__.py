"""What every other package may use: configuration, errors, text, ids, clocks, logs."""
