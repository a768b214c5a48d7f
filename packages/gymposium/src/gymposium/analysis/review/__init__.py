"""Reviews of recorded matches: the cost of each move.

A judge estimates the return of the seat to move, before and after its move. The choice of judge depends on the game
(`choose_judge`):

- Minimax, for perfect-information games small enough to solve.
- The best response to a fixed table (`cfr-N`), for small games with hidden information.
- Search, for larger games. Its values are estimates.

A review is stored next to its match file.
"""

from gymposium.analysis.review.file import REVIEW_SUFFIX, ReviewCache, ReviewFile, get_review_path, read_review
from gymposium.analysis.review.judge import DecisionValue, Judge, UnjudgeableGame, choose_judge, choose_quick_judge
from gymposium.analysis.review.lost import LossSummary, LossTally
from gymposium.analysis.review.match import Drop, MatchReview, ReviewedDecision, review_match
from gymposium.analysis.review.teacher import (
    ComparedDecision,
    ComparedMatch,
    compare_with_teacher,
    compute_agreement,
)

__all__ = [
    "REVIEW_SUFFIX",
    "ComparedDecision",
    "ComparedMatch",
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
    "choose_quick_judge",
    "compare_with_teacher",
    "compute_agreement",
    "get_review_path",
    "read_review",
    "review_match",
]
