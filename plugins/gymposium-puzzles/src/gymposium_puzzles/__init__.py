"""Puzzles for gymposium: generated from a seed, solvable, and with a solver each."""

import gymposium  # noqa: F401  (it loads the plugin, which imports the parts of this package)
