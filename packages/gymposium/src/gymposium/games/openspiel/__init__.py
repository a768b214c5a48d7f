"""OpenSpiel games: one adapter. The words of each game stand with its kind (`gymposium.games.lines` …)."""
