"""Executors: where a run's matches are played.

`local` uses processes on this machine; plugins offer others (`gymposium_executors`).

A run is split into parts, which are pure data. An executor plays them in any order and returns the records as lines.
The run itself writes all files. So the files do not depend on the executor, except for the players' times.
"""
