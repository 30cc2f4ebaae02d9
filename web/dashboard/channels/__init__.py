"""Accounts on chat platforms, who asks to come in, and what did not arrive."""
