"""SQL of people, tokens and logins."""
