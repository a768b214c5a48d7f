"""Ratings from outcomes, fitted to all matches at once and independent of their order.

`comparisons` counts scores by deal, and `evidence` sums them for one game or several. `fit` rates the players with a
`prior`; `newton` fits the counts and each `bootstrap` sample. `connectivity` finds the ratings that the data
determines, and `ranks` the players that can be told apart. `payoff` is the matrix of results by pairing, with cycles.
`returns` holds mean returns for games without winners.
"""
