"""2048 for gymposium."""
