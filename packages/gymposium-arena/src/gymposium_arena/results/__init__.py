"""`results.json`: everything that a leaderboard shows, derived only from a board's files."""
