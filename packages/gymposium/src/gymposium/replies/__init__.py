"""Building prompts from positions, and reading moves from replies."""
