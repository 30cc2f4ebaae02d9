"""What the drill does to the processes, one module a kind of fault."""
