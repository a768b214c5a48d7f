"""Ratings from outcomes: batch fits, no updates from match to match, so that the order of matches says nothing.

`comparisons` counts who scored against whom, by deal; `evidence` sums that for one game, or for several with equal
weight; `fit` rates it, with the `prior`, by `luce` (choix) and in each sample of the `bootstrap` by `newton`.
`connectivity` says what is known of a rating at all, `ranks` who can be told apart, `cycles` where no list tells the
truth, `payoff` how each pairing went. `returns` measures games without winners.
"""
