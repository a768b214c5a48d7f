"""Games: protocols (`protocol`), games by name (`registry`), and the built-in games in words."""
