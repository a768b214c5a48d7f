"""Who plays under `lm:MODEL@ADAPTER`: digests of all files that decide what it replies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import try_to_load_from_cache

from gymposium.players.identity import Fact, file_digest
from gymposium_agents.sources import NO_TRUST, PICKLES, Trust

_DECISIVE = (".safetensors", ".json", ".jinja", ".model", ".txt")
"""Endings of weights, configs, tokenizers, chat templates and `player.json`. What else lies there, a README, say,
decides nothing."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a language-model player was made from, in the words of its own text."""

    model: str
    adapter: str | None = None
    adapter_directory: Path | None = None
    """Where the adapter's files lie."""
    load: str | None = None
    """`4bit` where the weights are quantized as they are read."""
    engine: str = "transformers"
    """What samples its replies. The files of a server are not looked at."""
    trust: Trust = NO_TRUST
    """What the model's files may do."""

    def files(self) -> dict[str, str]:
        """The digest of each file, by the path that the text leads to: `runs/tiny/model.safetensors`."""
        endings = (*_DECISIVE, *((".py",) if self.trust.remote_code else ()), *(PICKLES if self.trust.pickles else ()))
        found = _digests(self.model, _directory(self.model), endings)
        if self.adapter is not None:
            found |= _digests(self.adapter, self.adapter_directory, _DECISIVE)
        return found

    def facts(self) -> dict[str, Fact]:
        """The rest."""
        facts: dict[str, Fact] = {"model": self.model, "engine": self.engine}
        named = {"adapter": self.adapter, "load": self.load}
        return facts | {name: value for name, value in named.items() if value is not None} | self.trust.facts()


def _directory(model: str) -> Path | None:
    """Where a model's files lie: its directory, or the copy of what a hub name stands for; None where neither is
    here."""
    if Path(model).is_dir():
        return Path(model)
    config = try_to_load_from_cache(model, "config.json")
    return Path(config).parent if isinstance(config, str) else None


def _digests(name: str, directory: Path | None, endings: tuple[str, ...]) -> dict[str, str]:
    if directory is None:
        return {}
    files = sorted(path for path in directory.iterdir() if path.suffix in endings and path.is_file())
    return {f"{name.rstrip('/')}/{path.name}": file_digest(path) for path in files}
