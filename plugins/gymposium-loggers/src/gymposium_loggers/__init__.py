"""Loggers for gymposium's training runs, one module per service. A service's library is imported when a run uses it."""
