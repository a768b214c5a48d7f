"""Loggers for gymposium's training runs, one file for each service; its library is imported when a run uses it."""
