"""The Telegram channel: one bot over the Bot API, by long polling or a webhook."""
