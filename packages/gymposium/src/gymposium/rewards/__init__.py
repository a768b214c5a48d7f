"""Rewards: functions from a group of trajectories to a number for each. `protocol` defines them, `grammar` makes one
from its name, `match` holds the game's returns and the score, `clipped` bounds what each turn is paid, and `weighted`
sums the criteria of `criteria`."""
