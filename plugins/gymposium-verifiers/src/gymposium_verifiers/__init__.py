"""gymposium's games and worlds as one environment of verifiers, found by the id `gymposium-verifiers`.

verifiers imports this module by that id, and takes the taskset, the environment and the harness from `__all__`.
"""

from gymposium_verifiers.environment import MatchEnv, load_environment
from gymposium_verifiers.harness import ChatHarness
from gymposium_verifiers.records import read_records, save_records
from gymposium_verifiers.taskset import MatchTaskset

__all__ = ["ChatHarness", "MatchEnv", "MatchTaskset", "load_environment", "read_records", "save_records"]
