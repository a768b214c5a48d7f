"""Disguises: other words, names and layouts over the same games, drawn from the seed `disguise`.

A disguised game has the engine, the actions, the views, the chance and the returns of the plain one. Only its texts
differ: the rules, the positions and the names of moves. `DISGUISES` lists the games that have one.
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
"""Where the words of each disguise stand, by the name of the game: the module in this package, and the class."""
