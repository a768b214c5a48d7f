"""Rewards: functions from a group of trajectories to a reward for each. `protocol` defines them, `grammar` makes them
from their names, `match` has the game's returns and the match score, `clipped` clips the pay of each turn, and
`weighted` sums the criteria of `criteria`."""
