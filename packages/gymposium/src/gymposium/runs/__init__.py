"""Runs: their folders (`gymposium.runs.folder`), and what a training run leaves, read as the plain files that it is:
curves, samples, results, and words for them.

Nothing here needs what wrote it, and a run may be under way while it is read (`gymposium.runs.growing`). What is in a
run's directory, file by file: docs/how-to/train-a-model.md.
"""
