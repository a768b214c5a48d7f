"""`results.json`: everything that a leaderboard shows, derived from a board's records and from nothing else."""
