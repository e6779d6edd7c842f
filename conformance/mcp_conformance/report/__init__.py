"""A run as one value, and its texts."""
