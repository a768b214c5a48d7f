"""Executors: where the matches of a run are played. `local` plays them in processes of this machine; plugins offer
others (`gymposium_executors`).

A run is cut into parts, which are pure data. An executor plays them in any order and returns the records as lines; the
run owns every file. So the files do not depend on the executor, in all but the times that players took.
"""
