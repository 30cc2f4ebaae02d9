"""Files that came with messages: fetched, stored, and put where the agent's tools find them."""
