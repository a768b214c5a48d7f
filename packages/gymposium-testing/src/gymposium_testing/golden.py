"""Write golden transcripts: whole matches between random players, with each seat's prompts.

Tests compare transcripts with files, so changes in wording or rules show up in review. After an intended change,
rewrite the transcripts of gymposium's own games, or of the given games and plugins:

    python -m gymposium_testing.golden tests/golden
    python -m gymposium_testing.golden tests/golden my_plugin

A long match's transcript has every event, but only the prompts of the first and last decisions. In free-text games,
players reply with words from the prompt and common answers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from gymposium.games.protocol import CHANCE, Game
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, MatchResult, play
from gymposium.plugins.host import Host, host
from gymposium.plugins.specs import GameSpec
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS
from gymposium.util.durable import replace_text
from gymposium_testing.positions import STYLES
from gymposium_testing.subjects import find_games
from gymposium_testing.walk import AnyPlayer, load_positions

SEED = 1
FIRST, LAST = 12, 3
"""Numbers of decisions at the start and the end of a match whose prompts are shown."""


def make_transcript(game: Game, seed: int = SEED) -> str:
    """Return a match between random players as plain text.

    It contains each seat's rules in both styles, the events with the rest of each prompt, and the returns."""
    player = AnyPlayer()
    [played] = play([MatchJob("golden", game, [player] * game.seats, seed, player_seed=seed)])
    return "\n".join(_make_lines(game, seed, played))


def _make_lines(game: Game, seed: int, played: MatchResult) -> Iterator[str]:
    yield f"{game.name}, seed {seed}, random players"
    for seat, style in product(range(game.seats), STYLES):
        yield from ("", f"== seat {seat}, {style}: every prompt begins with", *_indent(game.rules(seat, style)))
    written = 0
    walked = list(load_positions(game.load, played.events))
    for turn, match in enumerate(walked):
        shown = turn < FIRST or turn >= len(walked) - 1 - LAST
        if shown or turn == FIRST:
            yield ""
        for event in match.events[written:]:
            yield f">> {'chance' if event.seat == CHANCE else f'seat {event.seat}'}: {event.move}"
        written = len(match.events)
        for seat, style in product(match.to_move() if shown else (), STYLES):
            prompt = get_prompt(game, style, READERS["move"])(match.observe(seat, style))
            yield from (f"-- seat {seat}, {style}", *_indent(prompt.removeprefix(game.rules(seat, style))))
    for seat, style in product(range(game.seats), STYLES):
        yield from (f"-- seat {seat}, {style}, after the end", *_indent(match.observe(seat, style).text))
    yield ""
    yield from (f"seat {seat}: {value:+g}, {played.result(seat)}" for seat, value in enumerate(played.returns))
    yield ""


def _indent(text: str) -> Iterator[str]:
    return (f"   {line}".rstrip() for line in text.strip("\n").split("\n"))


def list_golden_games(specs: Iterable[GameSpec] | None = None) -> list[Game]:
    """Return the games for all examples in the specs. The default is gymposium's games, with disguises from plugins."""
    if specs is None:
        specs = [host().games[name] for name in Host(autoload=False).games]
    return [load_game(spec.name, **example) for spec in specs for example in spec.examples]


def make_file_name(game: Game) -> str:
    """Return a transcript's file name: `goofspiel-num_cards=4.txt` for `goofspiel(num_cards=4)`."""
    return re.sub(r"[^\w=.]+", "-", game.name).strip("-") + ".txt"


def main(arguments: list[str]) -> None:
    """Write transcripts to the folder in the first argument.

    The further arguments name games and plugins; the default is gymposium's games."""
    if not arguments:
        sys.exit("Usage: python -m gymposium_testing.golden FOLDER [GAME or PLUGIN]...")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for game in find_games(arguments[1:]) if arguments[1:] else list_golden_games():
        replace_text(folder / make_file_name(game), make_transcript(game))
        print(folder / make_file_name(game))


if __name__ == "__main__":
    main(sys.argv[1:])
