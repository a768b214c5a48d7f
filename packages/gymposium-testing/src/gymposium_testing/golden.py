"""Golden transcripts: whole matches of random players, with the prompts that each seat reads.

The tests compare transcripts word for word with files, so a change in wording or rules shows up in review. After
an intended change, rewrite the transcripts of gymposium's own games, or of the given games and plugins:

    python -m gymposium_testing.golden tests/golden
    python -m gymposium_testing.golden tests/golden my_plugin

The transcript of a long match shows every event, but only the prompts of the first and last decisions. In free-text
games, players reply with short texts: words from the prompt and common answers.
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
from gymposium_testing.subjects import named_games
from gymposium_testing.walk import AnyPlayer, positions

SEED = 1
FIRST, LAST = 12, 3
"""Number of decisions at the beginning and end that are shown with their prompts."""


def transcript(game: Game, seed: int = SEED) -> str:
    """Return one match of random players as plain text.

    The text has each seat's rules in both styles, then the events with the rest of the prompts at each decision,
    and the returns."""
    player = AnyPlayer()
    [played] = play([MatchJob("golden", game, [player] * game.seats, seed, player_seed=seed)])
    return "\n".join(_lines(game, seed, played))


def _lines(game: Game, seed: int, played: MatchResult) -> Iterator[str]:
    yield f"{game.name}, seed {seed}, random players"
    for seat, style in product(range(game.seats), STYLES):
        yield from ("", f"== seat {seat}, {style}: every prompt begins with", *_indented(game.rules(seat, style)))
    written = 0
    walked = list(positions(game.load, played.events))
    for turn, match in enumerate(walked):
        shown = turn < FIRST or turn >= len(walked) - 1 - LAST
        if shown or turn == FIRST:
            yield ""
        for event in match.events[written:]:
            yield f">> {'chance' if event.seat == CHANCE else f'seat {event.seat}'}: {event.move}"
        written = len(match.events)
        for seat, style in product(match.to_move() if shown else (), STYLES):
            prompt = get_prompt(game, style, READERS["move"])(match.observe(seat, style))
            yield from (f"-- seat {seat}, {style}", *_indented(prompt.removeprefix(game.rules(seat, style))))
    for seat, style in product(range(game.seats), STYLES):
        yield from (f"-- seat {seat}, {style}, after the end", *_indented(match.observe(seat, style).text))
    yield ""
    yield from (f"seat {seat}: {value:+g}, {played.result(seat)}" for seat, value in enumerate(played.returns))
    yield ""


def _indented(text: str) -> Iterator[str]:
    return (f"   {line}".rstrip() for line in text.strip("\n").split("\n"))


def golden_games(specs: Iterable[GameSpec] | None = None) -> list[Game]:
    """Return the games of all examples of the specs, by default of gymposium's own games and the plugins'
    disguises."""
    if specs is None:
        specs = [host().games[name] for name in Host(autoload=False).games]
    return [load_game(spec.name, **example) for spec in specs for example in spec.examples]


def file_name(game: Game) -> str:
    """Return the file name of a game: `goofspiel-num_cards=4.txt` for `goofspiel(num_cards=4)`."""
    return re.sub(r"[^\w=.]+", "-", game.name).strip("-") + ".txt"


def main(arguments: list[str]) -> None:
    """Write transcripts to the first argument, a folder: of the games and plugins named next, or of our own."""
    if not arguments:
        sys.exit("Usage: python -m gymposium_testing.golden FOLDER [GAME or PLUGIN]...")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for game in named_games(arguments[1:]) if arguments[1:] else golden_games():
        replace_text(folder / file_name(game), transcript(game))
        print(folder / file_name(game))


if __name__ == "__main__":
    main(sys.argv[1:])
