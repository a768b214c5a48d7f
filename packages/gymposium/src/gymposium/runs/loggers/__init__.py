"""Loggers, which take the metrics of a training run. `protocol` defines them; `make` makes those that a config names,
and closes them."""
