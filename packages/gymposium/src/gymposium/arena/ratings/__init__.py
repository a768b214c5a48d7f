"""Ratings from outcomes, fitted to all matches at once, so that the order of matches does not matter.

`comparisons` counts by deal who scored against whom. `evidence` sums these counts for one game, or for several games of
equal weight. `fit` rates the players, with the `prior`; `newton` fits the counts and each sample of the `bootstrap`.
`connectivity` says which ratings the data determine, `ranks` which players can be told apart, `cycles` which players
have no order from best to worst, `payoff` how each pairing went. `returns` measures games without winners.
"""
