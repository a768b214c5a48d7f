"""Folders of runs (`gymposium.runs.folder`), and the files of training runs: curves, samples, results, and the
documentation of metrics.

The files are read without the code that wrote them, and a run may still be writing them (`gymposium.runs.growing`).
docs/how-to/resume-training.md describes each file of a run's directory.
"""
