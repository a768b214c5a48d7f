"""Loggers for gymposium's training runs, one module per service; its library is imported when a run uses it."""
