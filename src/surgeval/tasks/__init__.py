"""Task instances."""
