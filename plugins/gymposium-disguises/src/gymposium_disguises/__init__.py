"""Disguises: other words, names and layouts for the same games, drawn from the seed `disguise`.

A disguised game keeps the engine, actions, views, chance and returns of the plain game. Only its texts differ: the
rules, positions and move names. `DISGUISES` lists the games that have one.
"""

from __future__ import annotations

from collections.abc import Mapping

DISGUISES: Mapping[str, str] = {
    "amazons": "barriers:Barriers",
    "bargaining": "sharing:Sharing",
    "blackjack": "limits:Limit",
    "breakthrough": "crossing:Crossing",
    "checkers": "leaps:Leaps",
    "clobber": "evictions:Evictions",
    "connect_four": "poles:Poles",
    "dark_hex": "unseen_chains:UnseenChains",
    "dots_and_boxes": "ropes:Ropes",
    "go": "enclosures:Enclosures",
    "gomoku": "rows:Rows",
    "goofspiel": "offers:Offers",
    "havannah": "chains:LoopsAndChains",
    "hex": "chains:TwoEnds",
    "kuhn_poker": "stakes:ThreeSigns",
    "leduc_poker": "stakes:TwoRounds",
    "liars_dice": "claims:Claims",
    "lines_of_action": "gathering:Gathering",
    "mancala": "sowing:TwoBarns",
    "nine_mens_morris": "roads:Roads",
    "othello": "turncoats:Turncoats",
    "oware": "sowing:TwosAndThrees",
    "phantom_ttt": "sums:UnseenSums",
    "pig": "digging:Digging",
    "tic_tac_toe": "sums:Sums",
    "ultimate_tic_tac_toe": "sums:SumsOfSums",
    "y": "chains:ThreeEdges",
}
"""The module (in this package) and class of each disguise, by game name."""
