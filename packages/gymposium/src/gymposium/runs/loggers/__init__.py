"""Loggers for the metrics of training runs. `protocol` defines them; `make` makes and closes those named in a
config."""
