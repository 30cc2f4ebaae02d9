"""Anthropic Messages, the format of Anthropic and of gateways that speak as it does."""
