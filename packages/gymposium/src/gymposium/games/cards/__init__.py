"""Other card games."""
