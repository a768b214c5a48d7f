"""Exact figures for small games, by traversal: how well anybody can do against random play (`optima_against_random`),
and what a given player is worth.

A player that can say how likely it plays each move is asked in every position that it can get into. The table of its
answers (`tabulate`) is its `Policy`. How that does against random play or another policy is its `value`, what the
strongest opponent gets against it the `best_response`, how far it is from an equilibrium its `exploitability`.
`measure` gives them all.

For games of OpenSpiel with two seats in turn and at most 20,000 positions, chance and hidden information included:
`tic_tac_toe`, `kuhn_poker`, `leduc_poker`.
"""

from gymposium.exact.measures import Figures, Measures, measure
from gymposium.exact.optima import optima_against_random
from gymposium.exact.outcome import Outcome, Value
from gymposium.exact.policy import NoLegalMove, Policy, tabulate
from gymposium.exact.response import BestResponse, best_response, exploitability
from gymposium.exact.size import MAX_POSITIONS, TooLarge
from gymposium.exact.value import value

__all__ = [
    "MAX_POSITIONS",
    "BestResponse",
    "Figures",
    "Measures",
    "NoLegalMove",
    "Outcome",
    "Policy",
    "TooLarge",
    "Value",
    "best_response",
    "exploitability",
    "measure",
    "optima_against_random",
    "tabulate",
    "value",
]
