"""Chats as a Parquet dataset with a card, which Hugging Face's `datasets` and its hub read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gymposium.runs.exports.chats import ORIGIN
from gymposium.util.durable import replace_text
from gymposium.util.extras import require_extra
from gymposium.util.visible import quantity

_LISTS = ("messages", "prompt", "completion", "tools")
_OBJECTS = ("chat_template_kwargs", ORIGIN)
DATA = "data/train-00000-of-00001.parquet"
"""The data file, named as the hub names it."""

_CARD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*
tags:
- gymposium
- text-games
---

# {title}

{chats} of games played with gymposium {version}.

```python
from datasets import load_dataset

chats = load_dataset("{title}", split="train")
```

| game | chats |
|---|---|
{games}

## Columns

| column | content |
|---|---|
| `messages` | a whole match of one seat; every assistant reply is to be learned |
| `prompt`, `completion` | one turn; only the completion is to be learned |
| `tools` | the tools that the model may call |
| `chat_template_kwargs` | options for the chat template |
| `gymposium` | game, match, seat, player, result and return |

A dataset has only the columns that its chats use. Each value equals the line that `gymposium synth` writes.
"""


def write_dataset(folder: Path, chats: Sequence[dict[str, Any]]) -> None:
    """Write the chats to a new folder as Parquet, with a card. Raises `MissingExtra` without `datasets`."""
    with require_extra("--format parquet", "gymposium[hub]", "datasets"):
        import datasets  # type: ignore[import-untyped]
    features: dict[str, Any] = {}
    for name in (*_LISTS, *_OBJECTS):
        if any(name in chat for chat in chats):
            # structs would give each call the arguments of all others
            features[name] = datasets.List(datasets.Json()) if name in _LISTS else datasets.Json()
    rows = [{name: chat.get(name) for name in features} for chat in chats]
    (folder / DATA).parent.mkdir(parents=True)
    datasets.Dataset.from_list(rows, features=datasets.Features(features)).to_parquet(folder / DATA)
    replace_text(folder / "README.md", _make_card(folder.name, chats))


def _make_card(title: str, chats: Sequence[dict[str, Any]]) -> str:
    games = Counter(str(chat.get(ORIGIN, {}).get("game", "unknown")) for chat in chats)
    return _CARD.format(
        title=title,
        chats=quantity(len(chats), "chat"),
        version=version("gymposium"),
        games="\n".join(f"| {game} | {count} |".replace("\n", " ") for game, count in sorted(games.items())),
    )
