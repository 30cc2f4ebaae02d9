"""OpenAI Responses, without state: nothing of a conversation is kept at the service."""
