"""The return that a policy loses per move in its evaluations, in games that are small enough to be judged exactly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gymposium.analysis.review import Judge, LossTally, UnjudgeableGame, choose_quick_judge, review_match
from gymposium.games.protocol import Game
from gymposium.match import MatchResult
from gymposium.records import Record

JUDGED_MATCHES = 100
"""Maximum number of matches per evaluation whose moves are judged. In tic_tac_toe, they take 0.1 CPU seconds."""
_PLAYER, _OPPONENT = "player", "opponent"


@lru_cache(maxsize=16)
def find_judge(game: Game) -> Judge | str:
    """Return the judge of a game's moves, or why the game has none."""
    try:
        return choose_quick_judge(game)
    except UnjudgeableGame as error:
        return str(error)


def describe_judges(games: Sequence[Game]) -> dict[str, dict[str, str]]:
    """Return each game's judge, or why it has none, as stored in the results."""
    found = {game.name: find_judge(game) for game in games}
    return {
        game: {"reason": judge} if isinstance(judge, str) else {"judge": judge.name} for game, judge in found.items()
    }


class LossMeter:
    """The return that the evaluated player loses per move, over the first matches of an evaluation."""

    def __init__(self, game: Game) -> None:
        self._game, self._judge, self._tally = game, find_judge(game), LossTally()

    def add(self, played: MatchResult, number: int, seat: int) -> None:
        """Judge the moves of the finished match `number`, with the player in `seat`."""
        if isinstance(self._judge, str) or number >= JUDGED_MATCHES:
            return
        record = Record.from_match(played)
        names = [_PLAYER if other == seat else _OPPONENT for other in range(self._game.seats)]
        self._tally.add(names, record.seed, review_match(record, self._judge), *self._game.utility_range)

    def as_dict(self) -> dict[str, Any]:
        """Return the mean loss with its interval, as in a score. Empty without judged moves."""
        lost = next((lost for lost in self._tally.players() if lost.player == _PLAYER), None)
        return {} if lost is None or not lost.moves else {"lost_per_move": [lost.per_move, lost.low, lost.high]}
