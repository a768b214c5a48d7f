"""The commands `leaderboard` and `audit`."""
