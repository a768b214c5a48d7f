"""Rewards: functions from a group of trajectories to one reward each.

`protocol` defines them, and `grammar` makes them from their names. `match` has the game's returns and the match score.
`clipped` clips the pay of each turn, and `weighted` sums the criteria in `criteria`."""
