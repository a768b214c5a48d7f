"""Worlds with tools, as games for gymposium: each room is one world."""
