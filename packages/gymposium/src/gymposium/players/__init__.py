"""Players: their protocol (`protocol`), names (`grammar`), and the players random, greedy, mcts-N and human.

Language models come from gymposium-agents, by the same hook as the players of other plugins.
"""
