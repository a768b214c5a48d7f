"""Rock, paper, scissors: both seats move simultaneously.

gymposium --plugin rock_paper_scissors.py play rock_paper_scissors
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gymposium import GameSpec, Parameter, hookimpl
from gymposium.games.rules import Style, make_game_factory

Rounds = tuple[tuple[str, str], ...]  # position: the hands of both seats in each round

BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}


class RockPaperScissors:
    """Rules of rock, paper, scissors over a number of rounds."""

    moves = tuple(BEATS)

    def __init__(self, rounds: int) -> None:
        self.rounds_to_play = rounds
        self.max_decisions = 2 * rounds
        self.utility_range = (-float(rounds), float(rounds))

    def start(self) -> Rounds:
        return ()

    def to_move(self, rounds: Rounds) -> tuple[int, ...]:
        return (0, 1) if len(rounds) < self.rounds_to_play else ()

    def legal_moves(self, rounds: Rounds, seat: int) -> Sequence[str]:
        return self.moves

    def play(self, rounds: Rounds, moves: Mapping[int, str]) -> Rounds:
        return (*rounds, (moves[0], moves[1]))

    def returns(self, rounds: Rounds) -> tuple[float, ...]:
        lead = sum((BEATS[a] == b) - (BEATS[b] == a) for a, b in rounds)
        return (float(lead), float(-lead))

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return f"rock paper scissors, {self.rounds_to_play} rounds\n"
        return (
            f"Rock, paper, scissors for two players, {self.rounds_to_play} rounds. Both show a hand at the same time. "
            f"Rock beats scissors, scissors beats paper, paper beats rock. Each round you win is a point, each you "
            f"lose a point less.\n"
        )

    def position(self, rounds: Rounds, seat: int, style: Style) -> str:
        shown = [f"{hands[seat]} against {hands[1 - seat]}" for hands in rounds]
        if style == "compact":
            return f"past {'; '.join(shown) or 'none'}\n"
        return f"Your hands so far: {'; '.join(shown) or 'none yet'}.\n"


game = make_game_factory(RockPaperScissors)


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield GameSpec(
        name="rock_paper_scissors",
        title="Rock, paper, scissors",
        summary="Show a hand at the same time.",
        entry_point="rock_paper_scissors:game",
        parameters=(Parameter(name="rounds", default=3, low=1, high=100, help="Rounds to play."),),
        examples=({}, {"rounds": 1}),
        dynamics="simultaneous",
        namespace="examples",
    )
