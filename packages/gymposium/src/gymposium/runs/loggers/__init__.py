"""Loggers for the metrics of training runs.

`protocol` defines loggers. `make` creates and closes those named in a config."""
