"""What people do to a turn that runs: guide it, hold it, let it go on."""
