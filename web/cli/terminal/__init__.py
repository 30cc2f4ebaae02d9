"""What the commands share: how they open the house, print, wait and fail."""
