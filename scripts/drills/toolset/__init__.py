"""The tools of the drill's agent; HABAKKUK_TEST_TOOLS names this package."""
