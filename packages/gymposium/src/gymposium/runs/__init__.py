"""Run folders (`gymposium.runs.folder`) and the files of training runs: curves, samples, results and metric docs.

The files can be read without the code that wrote them, even during the run (`gymposium.runs.growing`).
docs/how-to/resume-training.md describes each file in a run's directory.
"""
