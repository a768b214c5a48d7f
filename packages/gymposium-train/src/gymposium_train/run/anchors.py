"""Anchors: the results of the other players in the same matches, and the exact optima."""

from __future__ import annotations

from functools import partial
from typing import Any

from gymposium.exact import TooLarge, optima_against_random
from gymposium.games.protocol import Game
from gymposium.players.grammar import make_player
from gymposium_train.run.measures import measure
from gymposium_train.run.under_way import UnderWay


def measure_anchors(run: UnderWay) -> None:
    """Random play and the other opponents of the panel as players, and the exact optima where a game is small."""
    contests = [game for game in run.games if game.seats > 1]
    for name in dict.fromkeys(("random", *run.config.evaluation.opponents)):
        measure(run, f"anchor {name}", partial(make_player, name), games=run.games if name == "random" else contests)
    for game in run.games:
        known = run.directory.results().get("optima", {})
        if game.name not in known:
            run.directory.add_results(optima={**known, game.name: _optima(game)})


def _optima(game: Game) -> dict[str, Any]:
    try:
        found = optima_against_random(game)
    except TooLarge:
        return {}
    return {kind: {"win": o.win, "draw": o.draw, "loss": o.loss, "return": o.mean_return} for kind, o in found.items()}
