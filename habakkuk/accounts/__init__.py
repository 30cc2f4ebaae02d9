"""People, their roles, and the tokens they come with."""
