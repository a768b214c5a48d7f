"""Environments for the games: Gymnasium (`gym`, and `vector` for many matches at once) and PettingZoo (`aec`,
`parallel`), registered under their ids by `registration`.

All of them are thin views (`views`) of matches that the driver plays at a `gymposium.Table`. `wrappers` holds rewards
other than the game's own.
"""
