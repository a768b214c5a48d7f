"""The arena: tournaments, ratings of what came of them, and boards that anybody can check."""
