"""The Slack channel: one app in one workspace, by Socket Mode or the Events API over HTTP."""
