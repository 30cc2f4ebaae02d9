"""Toolsets that only tests find, through HABAKKUK_TEST_TOOLS=tests.fakes.toolset."""
