"""Snapshots of workspaces in repositories of Habakkuk's own, so that changes can be taken back."""
