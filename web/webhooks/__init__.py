"""The one door for what chat platforms send."""
