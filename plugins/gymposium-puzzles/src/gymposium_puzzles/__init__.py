"""Puzzles for gymposium: generated from a seed, solvable, and with a solver each."""
