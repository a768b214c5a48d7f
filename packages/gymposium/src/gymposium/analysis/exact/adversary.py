"""Best-response files, and the player `exploit:FILE` that plays one.

The file is a JSON table of moves, with the target player's identity and a digest of the content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from gymposium.analysis.exact.response import BestResponse
from gymposium.errors import BadOption, GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.identity import FITTED_FILES, FITTED_TO, Fact, Identity, digest_files
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.replies.reading import READERS, Reader
from gymposium.util.durable import replace_text
from gymposium.util.json_file import FileModel, read_model

_REMEDY = "Write it anew with  gymposium exploit PLAYER --game GAME."


class Target(FileModel):
    """The player an adversary was fitted to."""

    player: str
    code: dict[str, str]
    files: dict[str, str]
    facts: dict[str, Fact]
    decoding: dict[str, Fact]

    @classmethod
    def from_identity(cls, name: str, code: Mapping[str, str], identity: Identity) -> Target:
        """Return the target for this player name, code (`locate_code`) and identity."""
        return cls(
            player=name,
            code=dict(code),
            files=dict(identity.files),
            facts=dict(identity.facts),
            decoding=dict(identity.decoding),
        )


class Adversary(FileModel):
    """The content of an adversary file."""

    format: Literal["gymposium-adversary-1"] = "gymposium-adversary-1"
    game: str
    """Full name of the game."""
    target: Target
    returns: tuple[float, float]
    """The adversary's mean return against its target, in seat 0 and seat 1."""
    how: Literal["traversal", "replies", "search"]
    """`traversal`: the exact best response.

    `replies`: the best response to the target's observed reply frequencies. It exploits their noise, so `returns` are
    too high on average. `search`: found by simulated matches. `returns` are means over separate matches. In unknown
    states, the adversary plays at random."""
    moves: tuple[dict[str, str], dict[str, str]]
    """For each seat, the move per information state, keyed by the seat's view (`Match.view`)."""
    digest: str = ""
    """`sha256:` plus the digest of the content, excluding this key."""

    @classmethod
    def from_response(cls, response: BestResponse, target: Target, how: Literal["traversal", "replies"]) -> Adversary:
        """Build an adversary from a best response."""
        moves: tuple[dict[str, str], dict[str, str]] = ({}, {})
        for (seat, view), choice in response.policy.table.items():
            moves[seat][view] = choice.moves[choice.probabilities.index(1.0)]
        first, second = (seat.mean_return for seat in response.value.seats)
        return cls.from_content(
            game=response.policy.game.name, target=target, returns=(first, second), how=how, moves=moves
        )

    @classmethod
    def from_content(cls, **content: Any) -> Adversary:
        """Build an adversary with this content and its digest."""
        made = cls(**content)
        return made.model_copy(update={"digest": made._compute_digest()})

    def _compute_digest(self) -> str:
        content = self.model_dump_json(exclude={"digest"})
        return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"

    @classmethod
    def read(cls, path: Path) -> Adversary:
        """Read a file. Raises `BadRecord` if it is not an adversary, and `BadOption` if it was modified."""
        found = read_model(path, cls, "adversary", _REMEDY)
        if found.digest != found._compute_digest():
            raise BadOption(f"{path} was modified: its digest does not match. {_REMEDY}")
        return found

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        replace_text(path, self.model_dump_json(indent=1) + "\n")


class AdversaryPlayer:
    """The player `exploit:FILE`: the best response to one player, in one game.

    Its name, in records too, includes the start of the file's digest (`exploit:FILE#DIGEST`). Opponents other than its
    target may beat it."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def __init__(self, adversary: Adversary, path: str) -> None:
        """`path` is the adversary file's path, shown in the player's name."""
        self._adversary = adversary
        self.deterministic = adversary.how != "search"
        self._files = {path: adversary.digest}
        self.name = f"exploit:{path}#{adversary.digest.removeprefix('sha256:')[:12]}"

    def identity(self) -> Identity:
        """The table's digest and the target, the adversary's only opponent on a board."""
        target = self._adversary.target
        return Identity(self._files, {FITTED_TO: target.player, FITTED_FILES: digest_files(target.files)})

    def check_game(self, game: Game) -> None:
        if game.name != self._adversary.game:
            raise GymposiumError(
                f"{self.name} was fitted for {self._adversary.game} and does not play {game.name}. Fit another one for "
                f"this game with  gymposium exploit"
            )

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._find_move(ask) or ask.rng.choice(ask.legal_moves or [])) for ask in asks]

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return distributions that put all probability on the table's move, or uniform ones in states missing from the
        table."""
        found = []
        for ask in asks:
            moves, chosen = tuple(ask.legal_moves or ()), self._find_move(ask)
            odds = tuple(1 / len(moves) if chosen is None else float(move == chosen) for move in moves)
            found.append(MoveDistribution(moves, odds, 1.0, None))
        return found

    def _find_move(self, ask: Ask) -> str | None:
        self.check_game(ask.game)
        return self._adversary.moves[ask.seat].get(ask.view)


def open_adversary(path: str, digest: str | None = None) -> AdversaryPlayer:
    """Return the player in a file whose digest starts with this prefix.

    Raises `BadRecord` if the file is not an adversary. Raises `BadOption` if it was modified or is another
    adversary."""
    adversary = Adversary.read(Path(path))
    found = adversary.digest.removeprefix("sha256:")
    if digest is not None and not found.startswith(digest):
        raise BadOption(
            f"exploit:{path}#{digest}: the file contains another adversary. To play that one, write "
            f"exploit:{path}#{found[:12]}."
        )
    return AdversaryPlayer(adversary, path)
