"""Players: the protocol (`protocol`), from a name to a player (`grammar`), random, search and a person.

Language models come from gymposium-agents, by the same hook as any other plugin's players.
"""
