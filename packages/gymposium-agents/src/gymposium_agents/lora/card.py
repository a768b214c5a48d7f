"""The model card of an adapter or a merged model: what its files say, and how to use it. Nothing else is claimed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCardData

from gymposium_agents.lora.files import PLAYER, Adapter


def model_card(
    repo: str, adapter: Adapter | None, asked: Mapping[str, Any], *, base: str | None, game: str | None
) -> str:
    """The text of `README.md` in the repository `repo`: of an adapter, or of a whole model where it is None.

    `asked` is what `player.json` says; `base` the model beneath an adapter (or that was merged with one), `game` what
    it was trained to play, each where it is known."""
    named = base if base is not None and _is_hub_name(base) else None
    data = ModelCardData(
        base_model=named,
        library_name="transformers" if adapter is None else "peft",
        pipeline_tag="text-generation",
        tags=["gymposium", *(() if adapter is None else ("lora",)), "text-games"],
    )
    what = "A language model" if adapter is None else "A LoRA adapter for a language model"
    plays = f" that plays `{game}`" if game else " that plays text games"
    facts = [*_facts(adapter, base, named), *(f"{name}: `{value}`" for name, value in sorted(asked.items()))]
    known = "\n".join(f"- {fact}" for fact in facts)
    return (
        f"---\n{data.to_yaml()}\n---\n\n# {repo.rpartition('/')[2]}\n\n{what}{plays} as a player of gymposium.\n\n"
        + (f"## What is known of it\n\n{known}\n\n" if known else "")
        + f"## Use it\n\n{_usage(repo, adapter, named, game)}"
    )


def player_settings(directory: Path) -> dict[str, Any]:
    """What `player.json` in a directory says, as plain data; empty where there is none."""
    file = directory / PLAYER
    settings: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return settings


def _facts(adapter: Adapter | None, base: str | None, named: str | None) -> list[str]:
    if adapter is None:
        return [f"made from: `{named}`"] if named else []
    beneath = f"`{named}`" if named else "a model that is not on the hub"
    if base is not None and named is None:
        beneath += f", called `{Path(base).name}` where it was trained"
    layers = sorted({name.rpartition(".")[2] for name in adapter.layers})
    return [
        f"base model: {beneath}",
        f"rank {adapter.rank}, alpha {adapter.alpha:g}, on {', '.join(f'`{layer}`' for layer in layers)}",
        f"{adapter.parameters:,} parameters",
    ]


def _usage(repo: str, adapter: Adapter | None, named: str | None, game: str | None) -> str:
    model = named or "MODEL"
    player = f"lm:{repo}" if adapter is None else f"lm:{model}@{repo}"
    lines = [f"```console\n$ pip install gymposium-agents\n$ gymposium eval {player} --game {game or 'GAME'}\n```\n"]
    if adapter is None:
        lines.append(
            "```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
            f'model = AutoModelForCausalLM.from_pretrained("{repo}")\n'
            f'tokenizer = AutoTokenizer.from_pretrained("{repo}")\n```\n'
        )
    else:
        lines.append(
            "```python\nfrom peft import PeftModel\nfrom transformers import AutoModelForCausalLM\n\n"
            f'base = AutoModelForCausalLM.from_pretrained("{model}")\n'
            f'model = PeftModel.from_pretrained(base, "{repo}")\n```\n'
        )
    if adapter is not None and named is None:
        lines.append("MODEL is the base model, which is not named here because it is not known to be on the hub.\n")
    return "\n".join(lines)


def _is_hub_name(name: str) -> bool:
    """Whether this can be the name of a model on the hub, and is not that of a directory here."""
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None and not Path(name).exists()
