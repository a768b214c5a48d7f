"""gymposium's games and worlds as a task set of verifiers with tools, found by the id `gymposium-verifiers-tools`.

Every task has a prompt, and its tools are served to the harness, so it works with other harnesses and environments.
"""

from gymposium_verifiers_tools.taskset import ToolMatchTaskset

__all__ = ["ToolMatchTaskset"]
