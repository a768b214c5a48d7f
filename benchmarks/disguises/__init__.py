"""Disguised games: whether they are the plain games in other words, and who plays both equally well."""
