"""Routes that speak other programs' protocols."""
