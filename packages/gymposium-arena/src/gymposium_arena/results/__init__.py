"""`results.json`: all figures of a leaderboard, derived from the board's files."""
