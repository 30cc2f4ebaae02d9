"""Questions that an agent puts to the person of its turn."""
