"""Parse kaggle-environments episodes: `steps` for all environments, `connectx` and `open_spiel` for their games."""

from gymposium_arena.audit.kaggle.episodes import NAME, read, recognizes

__all__ = ["NAME", "read", "recognizes"]
