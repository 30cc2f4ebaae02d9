"""Tools that make an agent of the bench have twenty."""
