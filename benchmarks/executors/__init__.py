"""Boards that several executors play: equal whatever fails, and what they cost."""
