"""The model card of an adapter or a merged model: facts from its files, and its usage."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCardData

from gymposium.errors import GymposiumError
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json
from gymposium_agents.lora.files import PLAYER, Adapter
from gymposium_agents.lora.trained import TrainingSummary
from gymposium_agents.modeling.sources import find_title


def make_model_card(
    repo: str,
    adapter: Adapter | None,
    settings: Mapping[str, Any],
    *,
    base: str | None,
    game: str | None,
    trained: TrainingSummary | None = None,
) -> str:
    """Return the text of `README.md` in the repository `repo`, for an adapter, or for a whole model if `adapter` is
    None.

    `settings` are those of `player.json`. `base` is the base model, and `game` is the game that the model was trained
    to play. `trained` holds the facts from its run, if known."""
    games = (game,) if game else trained.games if trained else ()
    game = games[0] if games and not games[0].endswith("…") else None
    hub_base = base if base is not None and _is_hub_name(base) else None
    data = ModelCardData(
        base_model=hub_base,
        library_name="transformers" if adapter is None else "peft",
        pipeline_tag="text-generation",
        tags=["gymposium", *(() if adapter is None else ("lora",)), "text-games", *(_make_tag(game) for game in games)],
    )
    what = "A language model" if adapter is None else "A LoRA adapter for a language model"
    plays = f" that plays {', '.join(f'`{game}`' for game in games)}" if games else " that plays text games"
    facts = [*_list_facts(adapter, base, hub_base), *(f"{name}: `{value}`" for name, value in sorted(settings.items()))]
    known = "\n".join(f"- {fact}" for fact in facts)
    return (
        f"---\n{data.to_yaml()}\n---\n\n# {repo.rpartition('/')[2]}\n\n{what}{plays} as a player of gymposium.\n\n"
        + (f"## What is known of it\n\n{known}\n\n" if known else "")
        + (_describe_training(trained) if trained else "")
        + f"## Use it\n\n{_describe_usage(repo, adapter, hub_base, game)}"
    )


def read_player_settings(directory: Path) -> dict[str, Any]:
    """Return the settings in a directory's `player.json`, as plain data. Empty if the file does not exist.

    Raises `GymposiumError` if it is not a JSON object."""
    file = directory / PLAYER
    if not file.is_file():
        return {}
    try:
        settings = parse_strict_json(read_plain_text(file))
    except ValueError as error:
        raise GymposiumError(f"{file} cannot be read: {error}. Correct or remove it.") from error
    if not isinstance(settings, dict):
        raise GymposiumError(f"{file} does not contain a JSON object. Correct or remove it.")
    return settings


def _describe_training(trained: TrainingSummary) -> str:
    """Return the sections on the model's training and play."""
    how = "\n".join(f"- {fact}" for fact in trained.how)
    measured = f"## How it plays\n\n{table}\n\n" if (table := trained.format_table()) else ""
    return f"## How it was trained\n\n{how}\n\n{measured}"


def _make_tag(game: str) -> str:
    """Return the game without its parameters."""
    return game.partition("(")[0].rstrip("…")


def _list_facts(adapter: Adapter | None, base: str | None, hub_base: str | None) -> list[str]:
    if adapter is None:
        return [f"made from: `{hub_base}`"] if hub_base else []
    beneath = f"`{hub_base}`" if hub_base else "a model that is not on the hub"
    if base is not None and hub_base is None:
        beneath += f", called `{find_title(base) or Path(base).name}` where it was trained"
    layers = sorted({name.rpartition(".")[2] for name in adapter.layers})
    return [
        f"base model: {beneath}",
        f"rank {adapter.rank}, alpha {adapter.alpha:g}, on {', '.join(f'`{layer}`' for layer in layers)}",
        f"{adapter.parameters:,} parameters",
    ]


def _describe_usage(repo: str, adapter: Adapter | None, hub_base: str | None, game: str | None) -> str:
    model = hub_base or "MODEL"
    if adapter is None:
        player = f"lm:{repo}"
        code = (
            "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
            f'model = AutoModelForCausalLM.from_pretrained("{repo}")\n'
            f'tokenizer = AutoTokenizer.from_pretrained("{repo}")\n'
        )
    else:
        player = f"lm:{model}@{repo}"
        code = (
            "from peft import PeftModel\nfrom transformers import AutoModelForCausalLM\n\n"
            f'base = AutoModelForCausalLM.from_pretrained("{model}")\n'
            f'model = PeftModel.from_pretrained(base, "{repo}")\n'
        )
    evaluate = shlex.join(["gymposium", "eval", player, "--game", game or "GAME"])
    note = "\nMODEL is the base model, which is not named here because it is not known to be on the hub.\n"
    return (
        f"```console\n$ pip install gymposium-agents\n$ {evaluate}\n```\n\n"
        f"```python\n{code}```\n{note if adapter is not None and hub_base is None else ''}"
    )


def _is_hub_name(name: str) -> bool:
    """Return True if this can be the name of a model on the hub, and is not the name of a local directory."""
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None and not Path(name).exists()
