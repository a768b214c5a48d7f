"""Matches for tests of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gymposium import load_game, make_player
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records.trajectories import Trajectory
from gymposium.replies.reading import READERS


@dataclass
class ScriptedPlayer:
    """A player that gives these replies in order (None: no room), then legal moves; it notes its prompts."""

    texts: Sequence[str | None] = ()
    fails: float = 0.0
    """Share of nonsense replies after that."""
    told: list[str] = field(default_factory=list)
    name: str = "says"
    reader = READERS["move"]
    style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask: Ask) -> Reply:
        if ask.reason is None:
            legal = ask.legal_moves
            text = ask.observe("full").text
            self.told.append(text if legal is None else f"{text}Legal moves: {', '.join(legal)}")
        if ask.turn < len(self.texts):
            text = self.texts[ask.turn]
            return Reply("", "context") if text is None else Reply(text)
        return Reply("nonsense" if ask.rng.random() < self.fails else ask.rng.choice(ask.legal_moves or []))


def trajectory(
    player: ScriptedPlayer,
    *others: Player,
    game: str = "tic_tac_toe",
    seat: int = 0,
    seed: int = 0,
    player_seed: int = 0,
    on_illegal: str = "forfeit",
) -> Trajectory:
    """The trajectory of `player` against `others`, by default random players."""
    loaded = load_game(game)
    rest = list(others) or [make_player("random")] * (loaded.seats - 1)
    players = [*rest[:seat], player, *rest[seat:]]
    job = MatchJob("m", loaded, players, seed, player_seed, on_illegal=FailurePolicy.parse(on_illegal))
    return Trajectory.from_match(next(play([job])), seat)


def group(size: int = 4) -> list[Trajectory]:
    """Different trajectories with a common beginning: seat 1 of tic-tac-toe against an opponent with fixed moves."""
    moves = ["b1", "b2", "b3", "c1", "c2", "c3"][:size]
    return [
        trajectory(ScriptedPlayer([move]), ScriptedPlayer(["a1"]), seat=1, player_seed=number)
        for number, move in enumerate(moves)
    ]
