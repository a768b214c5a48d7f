"""Helpers without games: durable files, JSON, random streams, child processes, isolation, settings."""
