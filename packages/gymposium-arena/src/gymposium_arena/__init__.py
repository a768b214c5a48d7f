"""Tournaments, player ratings, and leaderboards that anyone can verify."""
