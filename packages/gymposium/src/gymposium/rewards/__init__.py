"""Rewards: what a learner gets for each trajectory of a group. `protocol` says what a reward is, `grammar` makes one
from its name, `match` holds the game's own returns and the score, `clipped` the returns within bounds, `weighted` and
`criteria` the weighted ones, `by_turn` what of a total belongs to which turn."""
