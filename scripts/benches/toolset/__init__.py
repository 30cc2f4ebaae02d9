"""More tools for the bench; HABAKKUK_TEST_TOOLS names this package."""
