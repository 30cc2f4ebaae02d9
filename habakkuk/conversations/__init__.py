"""The record of what happened: addresses, sessions, turns, transcripts, tool calls, usage."""
