"""Exact values of policies in small games, and what each move of a match gave away."""
