"""The Slack channel: one app in its workspaces, by Socket Mode or the Events API over HTTP."""
