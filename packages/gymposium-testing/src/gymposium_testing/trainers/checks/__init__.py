"""The checks of a trainer, a file for each kind."""
