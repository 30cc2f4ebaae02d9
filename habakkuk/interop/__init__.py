"""Other programs' protocols, without HTTP: what they ask for and what they are shown."""
