"""What must hold of `gymposium serve`: exact tokens, its cost, and learning through the URL alone."""
