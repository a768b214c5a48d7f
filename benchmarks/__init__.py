"""Benchmarks of speed, as ratios within a run. Each is a command: `python -m benchmarks.throughput --help`."""
