"""The toolset that every agent has: files of its workspace, commands, pages."""
