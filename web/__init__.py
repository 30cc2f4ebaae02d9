"""Everything that speaks HTTP or is typed at a shell; one service call and back."""
