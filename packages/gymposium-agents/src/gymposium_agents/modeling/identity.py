"""The identity of a player `lm:MODEL@ADAPTER`: digests of all files that determine its replies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import try_to_load_from_cache

from gymposium.players.identity import Fact, digest_file
from gymposium_agents.modeling.sources import NO_TRUST, PICKLES, Trust, find_title

_DECISIVE = (".safetensors", ".json", ".jinja", ".model", ".txt")
"""File extensions of weights, configs, tokenizers, chat templates and `player.json`. Other files, such as a README, do
not affect the replies."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The model, adapter and engine of a language-model player, as named in its text."""

    model: str
    adapter: str | None = None
    adapter_directory: Path | None = None
    """The directory with the adapter's files."""
    load: str | None = None
    """`4bit` if the weights are quantized while they are read."""
    engine: str = "transformers"
    """The engine that samples the replies. A server's files are not part of the identity."""
    trust: Trust = NO_TRUST
    """The allowed uses of the model's files, in addition to reading them."""

    def files(self) -> dict[str, str]:
        """Return the digest of each file that determines the replies, by path relative to the model's or adapter's
        name: `runs/tiny/model.safetensors`."""
        endings = (*_DECISIVE, *((".py",) if self.trust.remote_code else ()), *(PICKLES if self.trust.pickles else ()))
        digests = _compute_digests(self.model, _find_directory(self.model), endings)
        if self.adapter is not None:
            digests |= _compute_digests(self.adapter, self.adapter_directory, _DECISIVE)
        return digests

    def facts(self) -> dict[str, Fact]:
        """Return the other facts of the identity: names, engine, quantization and trust."""
        facts = {
            "model": self.model,
            "title": find_title(self.model),
            "engine": self.engine,
            "adapter": self.adapter,
            "load": self.load,
        }
        return {**{name: value for name, value in facts.items() if value is not None}, **self.trust.facts()}


def _find_directory(model: str) -> Path | None:
    """Return the directory with a model's files: a local directory, or the cached copy of a hub model. Returns None if
    neither exists."""
    if Path(model).is_dir():
        return Path(model)
    config = try_to_load_from_cache(model, "config.json")
    return Path(config).parent if isinstance(config, str) else None


def _compute_digests(name: str, directory: Path | None, endings: tuple[str, ...]) -> dict[str, str]:
    if directory is None:
        return {}
    files = sorted(path for path in directory.iterdir() if path.suffix in endings and path.is_file())
    return {f"{name.rstrip('/')}/{path.name}": digest_file(path) for path in files}
