"""The checks of a trainer, one module per kind."""
