"""OpenSpiel games: one adapter. Each game's text is in the package for its kind (`gymposium.games.lines` …)."""
