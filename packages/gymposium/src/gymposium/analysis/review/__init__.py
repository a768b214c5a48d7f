"""Reviews of recorded matches: what each move gave away.

A judge says what a position is worth to the seat to move, before its move and after it, in returns of the game. Which
judge a game has depends on its size (`judge_of`): minimax where nothing is hidden and all positions can be gone
through; the best response to a fixed table (`cfr-N`) in small games that hide something; and search in larger ones,
which only estimates. A review is kept beside the file of its matches.
"""

from gymposium.analysis.review.file import REVIEW_SUFFIX, ReviewFile, Reviews, read_review, review_path
from gymposium.analysis.review.judge import Judge, NotJudged, Worth, judge_of
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
    "judge_of",
    "read_review",
    "review_match",
    "review_path",
]
