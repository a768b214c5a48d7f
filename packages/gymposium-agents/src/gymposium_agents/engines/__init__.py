"""Engines: implementations that turn prompts into completions."""
