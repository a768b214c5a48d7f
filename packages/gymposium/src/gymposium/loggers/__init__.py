"""Loggers: where a training run's metrics go. `protocol` says what a logger is, `settings` reads the options of one,
`make` makes those that a config names and closes them again."""
