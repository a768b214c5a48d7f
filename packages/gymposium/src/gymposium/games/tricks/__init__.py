"""Trick-taking card games."""
