"""Environments for the games, registered under their ids by `registration`.

For Gymnasium there are `gym`, and `vector` for many matches at once; for PettingZoo, `aec` and `parallel`. All of them
are thin views (`views`) of matches that the driver plays at a `gymposium.Table`. `wrappers` provides rewards other than
the game's own.
"""
