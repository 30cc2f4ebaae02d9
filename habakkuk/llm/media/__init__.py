"""Files for models: what their bytes are, and images in the size that a model takes."""
