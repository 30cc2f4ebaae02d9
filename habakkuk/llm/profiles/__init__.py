"""Facts about services (presets) and models (profiles): data, no code that calls anything."""
