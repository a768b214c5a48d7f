"""The trained models of the viewed folder, which a person may choose as opponents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, GymposiumError
from gymposium.players.grammar import check_player
from gymposium.plugins.allowed import allow_names
from gymposium.plugins.host import host
from gymposium.plugins.names import parse_name
from gymposium.plugins.specs import GameSpec
from gymposium.records import Problem
from gymposium.runs.run import Run, find_runs
from gymposium.util.durable import MARK
from gymposium_viewer.playing.forms import Form

FIELD = "trained"
"""The form field with the chosen run. A link cannot fill it in, so a value in it is the person's own choice."""


def find_trained_models(directory: Path, spec: GameSpec | None) -> dict[str, str]:
    """Return the players of the runs that have trained a model, by run name. With a spec, only runs that trained on
    this game. No model is loaded."""
    if "lm" not in host().opponents:
        return {}
    found = {}
    for name, run in find_runs(directory).items():
        config, player = run.config(), f"lm:{run.path}"
        if not isinstance(config, Problem) and _has_model(run, config) and _is_player(player):
            games = {parse_name(str(game))[0] for game in config.get("games") or ()}
            if spec is None or spec.name in games:
                found[name] = player
    return found


def choose_trained_model(form: Form, directory: Path) -> Form:
    """Return the form with the chosen run's model as the first opponent, and allow that player. Unchanged without a
    choice. Raises `BadOption` for a run without a trained model."""
    run = form.get_text(FIELD)
    if not run:
        return form
    player = find_trained_models(directory, None).get(run)
    if player is None:
        raise BadOption(f"No trained model of {run!r}. Choose a run from the list.")
    allow_names(player)
    others = form.get_all("opponent")[1:]
    rest = [pair for pair in form.fields if pair[0] not in (FIELD, "opponent")]
    return Form((*rest, *(("opponent", text) for text in (player, *others))))


def _has_model(run: Run, config: Mapping[str, Any]) -> bool:
    """Return whether the run has finished its model: by reinforcement learning, or by a cold start alone."""
    results = ("cold_start",) if config.get("steps") == 0 else ("model", "adapter")
    return any((run.path / result / MARK).is_file() for result in results)


def _is_player(text: str) -> bool:
    """Return whether the path can be written in a player's name."""
    try:
        check_player(text)
    except GymposiumError:
        return False
    return True
