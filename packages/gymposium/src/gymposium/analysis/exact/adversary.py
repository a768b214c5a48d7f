"""Best responses in files, and the player `exploit:FILE` that plays one.

The file is a table of moves in JSON, with the identity of the player that it was fitted to and a digest of itself.
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
from gymposium.players.identity import FITTED_FILES, FITTED_TO, Fact, Identity, digest_of_files
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.replies.reading import READERS, Reader
from gymposium.util.durable import replace_text
from gymposium.util.json_file import FileModel, read_model

_REMEDY = "Write it anew with  gymposium exploit PLAYER --game GAME."


class Target(FileModel):
    """The player that an adversary was fitted to."""

    player: str
    code: dict[str, str]
    files: dict[str, str]
    facts: dict[str, Fact]
    decoding: dict[str, Fact]

    @classmethod
    def of(cls, name: str, code: Mapping[str, str], identity: Identity) -> Target:
        """The target with this name, code (`code_of`) and identity."""
        return cls(
            player=name,
            code=dict(code),
            files=dict(identity.files),
            facts=dict(identity.facts),
            decoding=dict(identity.decoding),
        )


class Adversary(FileModel):
    """The content of the file of an adversary."""

    format: Literal["gymposium-adversary-1"] = "gymposium-adversary-1"
    game: str
    """The full name of the game."""
    target: Target
    returns: tuple[float, float]
    """The adversary's mean return against its target in seat 0 and in seat 1."""
    how: Literal["traversal", "replies", "search"]
    """`traversal`: it is the best response. `replies`: the best response to shares of the target's replies, whose noise
    it exploits, so that `returns` are too high on average. `search`: found by simulated matches; `returns` are the
    means of other matches, and in states that it does not know it plays at random."""
    moves: tuple[dict[str, str], dict[str, str]]
    """For each seat the move in each of its information states, by what the seat knows (`Match.view`)."""
    digest: str = ""
    """`sha256:` with the digest of the content without this key."""

    @classmethod
    def of(cls, response: BestResponse, target: Target, how: Literal["traversal", "replies"]) -> Adversary:
        """The adversary of a best response."""
        moves: tuple[dict[str, str], dict[str, str]] = ({}, {})
        for (seat, view), choice in response.policy.table.items():
            moves[seat][view] = choice.moves[choice.probabilities.index(1.0)]
        first, second = (seat.mean_return for seat in response.value.seats)
        return cls.sealed(game=response.policy.game.name, target=target, returns=(first, second), how=how, moves=moves)

    @classmethod
    def sealed(cls, **content: Any) -> Adversary:
        """The adversary with this content and its digest."""
        made = cls(**content)
        return made.model_copy(update={"digest": made._computed()})

    def _computed(self) -> str:
        content = self.model_dump_json(exclude={"digest"})
        return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"

    @classmethod
    def read(cls, path: Path) -> Adversary:
        """The content of a file. Raises `BadRecord` if it holds no adversary, and `BadOption` if it was changed."""
        found = read_model(path, cls, "adversary", _REMEDY)
        if found.digest != found._computed():
            raise BadOption(f"{path} was changed: its digest does not fit. {_REMEDY}")
        return found

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        replace_text(path, self.model_dump_json(indent=1) + "\n")


class AdversaryPlayer:
    """The player `exploit:FILE`: the best response to one player, in one game.

    Its name holds the beginning of the file's digest (`exploit:FILE#DIGEST`), and so do records. Other opponents than
    its target may beat it."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def __init__(self, adversary: Adversary, path: str) -> None:
        """`path` is where the adversary is, for the name."""
        self._adversary = adversary
        self.deterministic = adversary.how != "search"
        self._files = {path: adversary.digest}
        self.name = f"exploit:{path}#{adversary.digest.removeprefix('sha256:')[:12]}"

    def identity(self) -> Identity:
        """The digest of the table, and the target, which is its only opponent on a board."""
        target = self._adversary.target
        return Identity(self._files, {FITTED_TO: target.player, FITTED_FILES: digest_of_files(target.files)})

    def check_game(self, game: Game) -> None:
        if game.name != self._adversary.game:
            raise GymposiumError(f"{self.name} does not play {game.name}: it was fitted in {self._adversary.game}.")

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._move(ask)) for ask in asks]

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return distributions with all probability on one move, or uniform ones in states without a move."""
        found = []
        for ask in asks:
            moves, chosen = tuple(ask.legal_moves or ()), self._known(ask)
            odds = tuple(1 / len(moves) if chosen is None else float(move == chosen) for move in moves)
            found.append(MoveDistribution(moves, odds, 1.0, None))
        return found

    def _move(self, ask: Ask) -> str:
        return self._known(ask) or ask.rng.choice(ask.legal_moves or [])

    def _known(self, ask: Ask) -> str | None:
        self.check_game(ask.game)
        return self._adversary.moves[ask.seat].get(ask.view)


def open_adversary(path: str, digest: str | None = None) -> AdversaryPlayer:
    """Return the player of a file, with a digest that begins so. Raises `BadRecord` if the file holds no adversary, and
    `BadOption` if it was changed or holds another one."""
    adversary = Adversary.read(Path(path))
    found = adversary.digest.removeprefix("sha256:")
    if digest is not None and not found.startswith(digest):
        raise BadOption(f"exploit:{path}#{digest}: the file holds another adversary, {found[:12]}.")
    return AdversaryPlayer(adversary, path)
