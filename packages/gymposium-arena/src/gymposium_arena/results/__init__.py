"""`results.json`: everything that a leaderboard shows, derived from the files of a board alone."""
