"""Reviews of recorded matches: the cost of each move.

A judge values a position for the seat to move, before and after its move, in returns of the game. A game's judge
depends on its size (`choose_judge`). Minimax is for perfect information if all positions can be searched. The best
response to a fixed table (`cfr-N`) is for small games with hidden information. Search is for larger games, and only
estimates. A review is stored next to its match file.
"""

from gymposium.analysis.review.file import REVIEW_SUFFIX, ReviewCache, ReviewFile, get_review_path, read_review
from gymposium.analysis.review.judge import DecisionValue, Judge, UnjudgeableGame, choose_judge
from gymposium.analysis.review.lost import LossSummary, LossTally
from gymposium.analysis.review.match import Drop, MatchReview, ReviewedDecision, review_match

__all__ = [
    "REVIEW_SUFFIX",
    "DecisionValue",
    "Drop",
    "Judge",
    "LossSummary",
    "LossTally",
    "MatchReview",
    "ReviewCache",
    "ReviewFile",
    "ReviewedDecision",
    "UnjudgeableGame",
    "choose_judge",
    "get_review_path",
    "read_review",
    "review_match",
]
