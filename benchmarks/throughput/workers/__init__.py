"""Processes that play other libraries' games, each module in that library's own environment."""
