"""Decisions a second, against bare OpenSpiel and other libraries. `python -m benchmarks.throughput --help`."""
