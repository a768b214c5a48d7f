"""affinetes' OpenSpiel tasks on gymposium's games and players: its task ids, its `evaluate`, its result fields."""

from gymposium_agents.affinetes.evaluate import evaluate
from gymposium_agents.affinetes.tasks import Task, decode, encode

__all__ = ["Task", "decode", "encode", "evaluate"]
