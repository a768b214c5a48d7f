"""Players: protocol (`protocol`), names (`grammar`), and the players random, greedy, mcts-N and human.

Language models come from gymposium-agents, through the same hook as any plugin's players.
"""
