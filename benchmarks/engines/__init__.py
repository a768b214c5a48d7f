"""Engines against what one writes without them. Each table is a command: `python -m benchmarks.engines --help`."""
