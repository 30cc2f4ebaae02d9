"""The Discord channel: one bot, listening at the gateway and sending over REST."""
