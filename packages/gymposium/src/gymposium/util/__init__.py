"""Helpers that are independent of games: durable files, JSON, random streams, child processes, isolation, settings."""
