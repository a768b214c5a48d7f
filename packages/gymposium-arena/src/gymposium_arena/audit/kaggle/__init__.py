"""Episodes of kaggle-environments. `steps` is shared by all environments; `connectx` and `open_spiel` are games."""

from gymposium_arena.audit.kaggle.episodes import NAME, knows, read

__all__ = ["NAME", "knows", "read"]
