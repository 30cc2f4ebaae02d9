"""The bench: what a turn costs, beside a bare proxy of the same stream."""
