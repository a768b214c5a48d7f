"""Defaults that depend on the learner's model and on its backend.

The defaults in the settings classes suit the small model made by a run. A config that names a model gets the defaults
in `PRETRAINED` instead. A directory with a `player.json`, which training writes beside a model, is an exception. Its
model is prompted according to that file. If it has fewer than `SMALL` parameters, the other defaults are those of the
small model. Both cases have no cold start by default.

Explicit settings keep their values. Omitted settings get the model's defaults but still count as omitted, so that they
follow a change of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gymposium.util.plain_file import check_plain
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_train.config.model import Model
from gymposium_train.util.settings import Settings

SMALL = 20_000_000
"""Number of parameters below which a trained model counts as small."""


def _read_player_settings(player: PlayerSettings) -> dict[str, Any]:
    """Return the config settings that prompt a model like this player. The temperature is not included."""
    return {
        "prompting.prompt": player.prompt,
        "prompting.reply": player.reply,
        "prompting.context": player.context,
        "prompting.thinking": player.thinking,
        "prompting.history": player.history,
        "prompting.max_tokens": player.max_tokens,
    }


PRETRAINED: Mapping[str, Any] = MappingProxyType(
    {
        **_read_player_settings(PlayerSettings()),
        "prompting.max_tokens": None,  # follows from the form of the replies
        "prompting.on_illegal": "forfeit",
        "steps": 100,
        "model.tune": "lora",
        "kl.weight": 0.0,
        "legality.weight": 0.0,
        "rollout.groups": 16,
        "rollout.group_size": 8,
        "rollout.growth": 1.0,
        "credit.critic.learning_rate": 1e-4,
        "credit.gamma": 1.0,
        "credit.lam": 0.95,
        "optimizer.learning_rate": 2e-4,
        "optimizer.epochs": 1,
        "optimizer.minibatches": 4,
        "cold_start.steps": 0,
        "cold_start.tune": "lora",
        "cold_start.learning_rate": 2e-4,
        "evaluation.matches": 200,
        "evaluation.search_matches": 100,
        "evaluation.curve_matches": 40,
    }
)
"""The defaults of a pretrained model, by dotted name, where they may differ from those of the settings classes. The
learning rate suits a LoRA. `credit` applies to `credit.kind=gae`, which is not the default of pretrained models. The
values come from trials (docs/decisions/0042)."""
ALL_WEIGHTS = 2e-5
"""The default learning rate for training all weights of a pretrained model: a tenth of a LoRA's (Schulman & Thinking
Machines Lab, 2025)."""


def find_defaults(model: Model) -> dict[str, Any]:
    """Return a config's defaults for this model, by dotted name, where they differ from those of the settings classes.
    Reads the files of a model directory, but never the hub. Raises `BadOption` for an invalid `player.json`."""
    if model.name is None:
        return {}
    directory = Path(model.name)
    has_player = (directory / PlayerSettings.FILE).is_file()
    asked = {**(_read_player_settings(PlayerSettings.beside(directory)) if has_player else {}), "cold_start.steps": 0}
    if not is_pretrained(model):
        return asked
    whole = {"optimizer.learning_rate": ALL_WEIGHTS, "cold_start.tune": "full"} if _trains_all_weights(model) else {}
    return {**PRETRAINED, **whole, **asked}


def is_pretrained(model: Model) -> bool:
    """Return True if a config's defaults for this model are those of a pretrained one: a named model, except a small
    one that was trained here."""
    if model.name is None:
        return False
    directory = Path(model.name)
    return not ((directory / PlayerSettings.FILE).is_file() and _is_small(directory))


def _trains_all_weights(table: Settings) -> bool:
    """Return True if a table selects training of all weights."""
    return getattr(table, "tune", None) == "full" and "tune" in table.model_fields_set


def _is_small(directory: Path) -> bool:
    """Return True if the safetensors in a directory hold some parameters, but fewer than `SMALL`. Only reads their
    headers."""
    from safetensors import SafetensorError, safe_open

    parameters = 0
    for path in directory.glob("*.safetensors"):
        try:
            check_plain(path)
            with safe_open(path, framework="np") as file:
                parameters += sum(prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
        except (OSError, SafetensorError):  # loading the model reports what is wrong with the file
            return False
    return 0 < parameters < SMALL


def list_omitted(config: Settings) -> list[str]:
    """Return the settings of `PRETRAINED` that a config omits, by dotted name."""
    return [name for name in PRETRAINED if _is_omitted(config, name.split("."))]


def _is_omitted(table: object, names: list[str]) -> bool:
    if not isinstance(table, Settings) or names[0] not in type(table).model_fields:
        return False
    if len(names) > 1:
        return _is_omitted(getattr(table, names[0]), names[1:])
    return names[0] not in table.model_fields_set


def fill_defaults(config: Settings, model: Model, of_backend: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables and settings of a config for this model, with omitted settings filled in: the backend's
    defaults come first, then the model's. Changed tables are copied, because a caller may use a table in several
    configs. Raises the same errors as `find_defaults`."""
    names = list_omitted(config)
    values = {**(find_defaults(model) if names else {}), **of_backend}
    names += [name for name in of_backend if name not in PRETRAINED and _is_omitted(config, name.split("."))]
    whole = _trains_all_weights(getattr(config, "cold_start", model)) or values.get("cold_start.tune") == "full"
    if whole and "cold_start.learning_rate" in values:
        values["cold_start.learning_rate"] = ALL_WEIGHTS
    tables: dict[str, Any] = {}
    for name in names:
        first, *below = name.split(".")
        if below:
            tables[first] = _set_default(tables.get(first, getattr(config, first)), below, values.get(name))
        else:
            tables[first] = values.get(name, type(config).model_fields[first].get_default())
    return tables


def _set_default(table: Settings, names: list[str], value: Any) -> Settings:
    """Return the table with this value of a setting. None means the settings class's default. The setting counts as
    omitted."""
    name, *below = names
    before = getattr(table, name)
    if below:
        value = _set_default(before, below, value)
    elif value is None:
        value = type(table).model_fields[name].get_default()
    if value == before:
        return table
    changed = table.model_copy()
    object.__setattr__(changed, name, value)  # tables are frozen
    return changed
