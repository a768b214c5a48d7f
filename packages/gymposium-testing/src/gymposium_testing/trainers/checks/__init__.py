"""The checks of trainers, one module per family."""
