"""Episodes of kaggle-environments: `steps` are what all environments share, `connectx` and `open_spiel` their games."""

from gymposium_arena.audit.kaggle.episodes import NAME, knows, read

__all__ = ["NAME", "knows", "read"]
