"""Chat Completions, the format of OpenAI and of most other services and local servers."""
