"""Exact policy values in small games, and the cost of each move in a match."""
