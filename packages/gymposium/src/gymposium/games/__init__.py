"""Games: protocols (`protocol`), lookup by name (`registry`), and the built-in text games."""
