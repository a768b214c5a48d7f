"""Ratings from outcomes, fitted to all matches at once, so that the order of matches does not matter.

`comparisons` counts which player scored against which, by deal. `evidence` sums these counts for one game, or for
several games of equal weight. `fit` rates the players, with the `prior`; `newton` fits the counts and each sample of
the `bootstrap`. `connectivity` tells which ratings the data determine, `ranks` which players can be told apart, and
`cycles` which players beat each other in a ring. `payoff` is the matrix of results by pairing. `returns` holds mean
returns, for games without winners.
"""
