"""Ratings from outcomes, fitted to all matches at once, so the order of matches does not matter.

`comparisons` counts, by deal, which player scored against which. `evidence` sums these counts for one game, or for
several games with equal weight. `fit` rates the players, using the `prior`; `newton` fits the counts and each
`bootstrap` sample. `connectivity` finds which ratings the data determines, `ranks` which players can be told apart,
and `cycles` which players beat each other in a cycle. `payoff` is the matrix of results by pairing. `returns` holds
mean returns, for games without winners.
"""
