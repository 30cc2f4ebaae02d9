"""Approvals: a call that needs one waits for the person who asked, or for an owner."""
