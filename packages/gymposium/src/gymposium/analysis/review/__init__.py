"""Reviews of recorded matches: the cost of each move.

A judge values a position for the seat to move, before and after its move, in returns of the game. A game's judge
depends on its size (`choose_judge`). Minimax is for perfect information if all positions can be searched. The best
response to a fixed table (`cfr-N`) is for small games with hidden information. Search is for larger games, and only
estimates. A review is stored next to its match file.
"""

from gymposium.analysis.review.file import REVIEW_SUFFIX, ReviewFile, Reviews, read_review, review_path
from gymposium.analysis.review.judge import Judge, NotJudged, Worth, choose_judge
from gymposium.analysis.review.lost import Lost, LostTally
from gymposium.analysis.review.match import Drop, MatchReview, ReviewedDecision, review_match

__all__ = [
    "REVIEW_SUFFIX",
    "Drop",
    "Judge",
    "Lost",
    "LostTally",
    "MatchReview",
    "NotJudged",
    "ReviewFile",
    "ReviewedDecision",
    "Reviews",
    "Worth",
    "choose_judge",
    "read_review",
    "review_match",
    "review_path",
]
