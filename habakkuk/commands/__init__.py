"""Slash commands, one file each. The registry feeds the gateway, /help and channel menus."""
