"""Executors: where a run's matches are played. `local` uses processes on this machine; plugins offer others
(`gymposium_executors`).

A run is cut into parts, which are pure data. An executor plays them in any order and returns the records as lines. The
run owns every file. So the files do not depend on the executor, except for the players' times.
"""
