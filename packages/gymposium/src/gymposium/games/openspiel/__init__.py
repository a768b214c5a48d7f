"""The adapter for OpenSpiel games. Each game's text is in the package for its kind, such as `gymposium.games.lines`."""
