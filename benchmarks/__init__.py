"""Speed, measured as ratios inside one run. Each module is a command: `python -m benchmarks.throughput --help`."""
