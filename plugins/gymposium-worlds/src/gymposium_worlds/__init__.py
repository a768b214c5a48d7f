"""Worlds with tools, as games for gymposium. Each folder is one world."""
