"""Exact results for small games, by traversal of all positions.

They cover the best possible play against random moves (`optima_against_random`) and a given player's strength.

A player that knows its move probabilities is queried in every position it can reach. The answers form its `Policy`
(`tabulate`). `value` is a policy's result against random play or another policy. `best_response` is the strongest
opponent and its result. `exploitability` is the distance from an equilibrium. `measure` computes all three.
`list_costly_decisions` finds the decisions that cost a player most. A player that does not know its probabilities is
sampled instead (`sample_policy`). Its exploitability is then a confidence interval (`estimate_exploitability`).

Exact figures need an OpenSpiel game with two seats and at most 400,000 positions. Chance, hidden information and
simultaneous moves are allowed. Examples: `tic_tac_toe`, `kuhn_poker`, `leduc_poker`, `liars_dice`,
`goofspiel(num_cards=5)`, `dark_hex(num_rows=2,num_cols=3)`.
"""

from gymposium.analysis.exact.bounds import ExploitabilityInterval, estimate_exploitability
from gymposium.analysis.exact.decisions import CostlyDecision, list_costly_decisions
from gymposium.analysis.exact.graph import check_small
from gymposium.analysis.exact.measures import PlayerFigures, PolicyFigures, measure_player
from gymposium.analysis.exact.optima import compute_optima_against_random
from gymposium.analysis.exact.outcome import Outcome, Value
from gymposium.analysis.exact.policy import NoLegalMove, Policy, complete_policy, knows_probabilities, tabulate_policy
from gymposium.analysis.exact.response import BestResponse, compute_exploitability, find_best_response
from gymposium.analysis.exact.sampling import REPLIES, SampledPolicy, sample_policy
from gymposium.analysis.exact.size import MOST_POSITIONS, TooLarge
from gymposium.analysis.exact.value import compute_value

__all__ = [
    "MOST_POSITIONS",
    "REPLIES",
    "BestResponse",
    "CostlyDecision",
    "ExploitabilityInterval",
    "NoLegalMove",
    "Outcome",
    "PlayerFigures",
    "Policy",
    "PolicyFigures",
    "SampledPolicy",
    "TooLarge",
    "Value",
    "check_small",
    "complete_policy",
    "compute_exploitability",
    "compute_optima_against_random",
    "compute_value",
    "estimate_exploitability",
    "find_best_response",
    "knows_probabilities",
    "list_costly_decisions",
    "measure_player",
    "sample_policy",
    "tabulate_policy",
]
