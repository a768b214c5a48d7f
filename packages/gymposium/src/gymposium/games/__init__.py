"""Games: the protocol (`protocol`), from a name to a game (`registry`), and OpenSpiel's games in words."""
