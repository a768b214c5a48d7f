"""Environments for the games, registered under their ids by `registration`.

Gymnasium environments are in `gym` and, for many matches at once, in `vector`. PettingZoo environments are in `aec` and
`parallel`. All are thin wrappers (`views`) around matches that the driver plays at a `gymposium.Table`. `wrappers`
provides rewards other than the game's own.
"""
