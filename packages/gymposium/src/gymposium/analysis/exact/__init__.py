"""Exact results for small games, by traversal of all positions: the best possible play against random moves
(`optima_against_random`), and the strength of a given player.

A player that knows the probabilities of its moves is asked in every position that it can reach; the table of its
answers is its `Policy` (`tabulate`). `value` is the result of a policy against random play or another policy,
`best_response` is the strongest opponent and its result, and `exploitability` is the distance from an equilibrium.
`measure` computes all three. `decisions_of` names the decisions that cost a player most. A player that does not know
the probabilities is asked for replies instead (`sample`), and its exploitability has an interval
(`exploitability_between`).

A player's exact figures are for OpenSpiel's games with two seats and at most 400,000 positions, with or without chance,
hidden information and moves at the same time: `tic_tac_toe`, `kuhn_poker`, `leduc_poker`, `liars_dice`,
`goofspiel(num_cards=5)`, `dark_hex(num_rows=2,num_cols=3)`.
"""

from gymposium.analysis.exact.bounds import Between, exploitability_between
from gymposium.analysis.exact.decisions import CostlyDecision, decisions_of
from gymposium.analysis.exact.graph import check_small
from gymposium.analysis.exact.measures import Figures, Measures, measure
from gymposium.analysis.exact.optima import optima_against_random
from gymposium.analysis.exact.outcome import Outcome, Value
from gymposium.analysis.exact.policy import NoLegalMove, Policy, completed, gives_probabilities, tabulate
from gymposium.analysis.exact.response import BestResponse, best_response, exploitability
from gymposium.analysis.exact.sampling import REPLIES, SampledPolicy, sample
from gymposium.analysis.exact.size import MOST_POSITIONS, TooLarge
from gymposium.analysis.exact.value import value

__all__ = [
    "MOST_POSITIONS",
    "REPLIES",
    "BestResponse",
    "Between",
    "CostlyDecision",
    "Figures",
    "Measures",
    "NoLegalMove",
    "Outcome",
    "Policy",
    "SampledPolicy",
    "TooLarge",
    "Value",
    "best_response",
    "check_small",
    "completed",
    "decisions_of",
    "exploitability",
    "exploitability_between",
    "gives_probabilities",
    "measure",
    "optima_against_random",
    "sample",
    "tabulate",
    "value",
]
