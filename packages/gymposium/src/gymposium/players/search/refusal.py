"""What search refuses to play, and why: better no move than a bad one that looks like search."""

from __future__ import annotations

from gymposium.errors import NoSampler
from gymposium.games.protocol import Game
from gymposium.plugins.names import parse_name

_DEALS = (
    "a deal at random hardly ever agrees with what a seat has seen of it, and OpenSpiel has no sound sampler of deals "
    "that do"
)
_MOVES = "hidden moves at random hardly ever agree with what a seat has seen of them for as long as a match lasts"
_LEGAL = "in its engine positions that look alike to a seat differ in their legal moves"
_CHANCE = "its engine draws chance where nobody sees it, so that what happened cannot be played again"

_ENGINES = {
    **dict.fromkeys(
        "bridge_uncontested_bidding coin_game colored_trails crazy_eights cribbage dou_dizhu euchre gin_rummy go_fish "
        "hanabi hearts skat solitaire spades".split(),
        _DEALS,
    ),
    **dict.fromkeys("battleship dark_chess kriegspiel phantom_go rbc".split(), _MOVES),
    **dict.fromkeys("2048 morpion_solitaire".split(), _LEGAL),
    **dict.fromkeys("negotiation tarok".split(), _CHANCE),
}
"""OpenSpiel's games, by short name, in which no world was found for a tenth of the moves or more (mcts-40 against
random play with the default parameters, open_spiel 2.0.2), or whose engine is at fault. For the plain
`openspiel:NAME`: a game of ours on the same engine may have a sampler of its own, or says itself that it is not to be
searched."""


def refuse(game: Game, player: str) -> None:
    """Raises `NoSampler` with the reason where search would only play badly."""
    if game.spec.free_text:
        raise NoSampler(
            f"{player} does not play {game.name}: it takes free text, so there are no moves to search through. A "
            f"person can (gymposium play {game.name}), or a language model (lm:MODEL)."
        )
    reason = game.spec.unsearchable or _by_engine(game)
    if reason:
        raise NoSampler(f"{player} does not play {game.name}: {reason}. Use the random player instead.")


def _by_engine(game: Game) -> str:
    base, _ = parse_name(game.name)
    return _ENGINES.get(base.removeprefix("openspiel:"), "") if base.startswith("openspiel:") else ""
