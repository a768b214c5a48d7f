"""The arena: tournaments, ratings of their players, and boards that anyone can verify."""
