"""Games that search players reject, and remarks about their random moves."""

from __future__ import annotations

from gymposium.errors import NoSampler
from gymposium.games.protocol import Game
from gymposium.plugins.command_line import format_command_line
from gymposium.plugins.names import parse_name
from gymposium.util.visible import quantity

_DEALS = "random deals almost never match a seat's observations, and OpenSpiel has no sound sampler of deals that do"
_MOVES = "random hidden moves almost never match a seat's observations of a whole match"
_LEGAL = "the engine's positions differ in legal moves although a seat cannot tell them apart"
_CHANCE = "its engine draws chance internally, so matches cannot be replayed"

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
"""Reasons to reject OpenSpiel games, by short name.

In these games, the engine is faulty, or no world was found for at least a tenth of the moves. (Measured with mcts-40
against random play, default parameters, open_spiel 2.0.2.) The reasons apply only to the plain `openspiel:NAME`. A
gymposium game on the same engine may have its own sampler, and its spec says whether it can be searched."""


def check_searchable(game: Game, player: str) -> None:
    """Raise `NoSampler` with the reason if search would play this game badly."""
    if game.spec.free_text:
        raise NoSampler(
            f"{player} does not play {game.name}, because it is a free-text game without moves to search. Use a person "
            f"({format_command_line('play', game.name)}) or a language model (lm:MODEL)."
        )
    base, _ = parse_name(game.name)
    engine = base.removeprefix("openspiel:") if base.startswith("openspiel:") else ""
    reason = game.spec.unsearchable or _ENGINES.get(engine)
    if reason:
        raise NoSampler(f"{player} does not play {game.name}: {reason}. Use the random player instead.")


def remark_on_random_moves(count: int, moves: int) -> list[str]:
    """Return a remark that `count` of `moves` moves were random because no world was found, or []."""
    return (
        [f"{count} of {quantity(moves, 'move was', 'moves were')} random, as no world was found to search."]
        if count
        else []
    )
