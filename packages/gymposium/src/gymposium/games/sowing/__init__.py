"""Sowing games, the mancala family: seeds are sown round a ring of houses and captured."""
