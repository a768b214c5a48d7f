"""Rewards: functions from a group of trajectories to one reward each.

`protocol` defines rewards, and `grammar` creates them from their names. `match` has the game's returns and the match
score. `clipped` clips each turn's reward, and `weighted` sums the criteria in `criteria`."""
