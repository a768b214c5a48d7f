"""Engines: whatever turns prompts into completions."""
