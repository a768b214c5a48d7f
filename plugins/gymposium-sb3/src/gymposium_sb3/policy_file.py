"""Policy files saved by stable-baselines3. Only their weights and plain JSON are read. `PPO.load` unpickles Python
objects, which can run any code, so use it only for your own files. This module loads the weights with `weights_only`
and reads the layers from JSON. A file from an untrusted source runs no code.

`gymposium sb3 train` adds a note, `gymposium.json`, with the game and the training settings. Zips without a note also
work.
"""

from __future__ import annotations

import io
import json
import lzma
import pickle
import pickletools
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.plugins.command_line import format_command_line
from gymposium.util.plain_file import open_plain

NOTE = "gymposium.json"
MAX_FILE = 2**30
"""Maximum size of a file, in bytes. It contains weights, the optimizer's state, and more."""
MAX_WEIGHTS = 256 * 2**20
"""Maximum total size of the weights, in bytes."""
MAX_JSON = 16 * 2**20
"""Maximum size of a JSON member of a zip, in bytes. stable-baselines3 writes less than a tenth of this."""
MAX_PICKLE = 2**18
"""Maximum size of the pickle that describes the tensors, in bytes. A policy needs some hundred bytes per tensor."""
MOST_PARTS = 10_000
"""Maximum number of members of a zip. Each takes hundreds of bytes when the zip is opened."""
_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Exceptions that zipfile, torch and json raise for damaged files."""
_ACTIVATIONS: dict[str, type[nn.Module]] = {
    kind.__name__: kind for kind in (nn.Tanh, nn.ReLU, nn.ELU, nn.GELU, nn.LeakyReLU, nn.SiLU)
}
_GLOBALS = re.compile(r"collections OrderedDict|torch\._utils _rebuild_(tensor_v2|parameter)|torch \w+Storage")
"""Globals that tensors need. `weights_only` also allows globals that can fill memory, such as bytearray."""
_TEXTS = frozenset({"GLOBAL", "BINUNICODE", "SHORT_BINUNICODE", "UNICODE"})
"""Pickle operations that create strings and globals."""
_HIDDEN = "mlp_extractor.policy_net."
_KNOWN = ("action_net.", "mlp_extractor.", "value_net.")


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A saved policy. The network maps a flat observation to one number for each action."""

    path: Path
    network: nn.Module
    inputs: int
    actions: int
    note: Mapping[str, Any] = field(default_factory=dict)
    """The note from `write_note`; empty without a note."""

    def check_game(self, game: Game) -> None:
        """Check that this policy can play a game.

        Raises `BadOption` if it was trained on another game or version, or if the sizes do not match."""
        tensor_size = 0 if game.tensor_shape is None else int(torch.Size(game.tensor_shape).numel())
        trained_on = self.note.get("game")
        if trained_on is not None and trained_on != game.name:
            raise BadOption(
                f"sb3:{self.path} was trained on {trained_on}, so it cannot play {game.name}. Train a policy on that "
                "game."
            )
        if trained_on is not None and self.note.get("game_version") != game.spec.version:
            raise BadOption(
                f"sb3:{self.path} was trained on version {self.note.get('game_version')} of {game.name}, whose rules "
                f"or rewards have changed since (now version {game.spec.version}). Train it again."
            )
        if (tensor_size, game.num_actions) != (self.inputs, self.actions):
            raise BadOption(
                f"sb3:{self.path} reads {self.inputs} numbers and chooses among {self.actions} actions, but "
                f"{game.name} has a tensor of {tensor_size} numbers and {game.num_actions} actions: it was trained on "
                f"another game."
            )


def read_policy(path: str | Path) -> PolicyFile:
    """Return the policy in a zip saved by stable-baselines3's PPO or A2C, or by sb3-contrib's MaskablePPO.

    Raises `BadOption` with the fault of the file."""
    path = Path(path)
    if not path.is_file():
        raise BadOption(
            f"There is no file {str(path)!r}. Train a policy first:  "
            + format_command_line("sb3", "train", "tic_tac_toe", "--out", str(path))
        )
    if path.stat().st_size > MAX_FILE:
        raise BadOption(
            f"{path} was not saved by stable-baselines3: it is larger than {MAX_FILE:,} bytes. Name a file of "
            "gymposium sb3 train."
        )
    try:
        with open_plain(path) as file, mmap(file.fileno(), 0, access=ACCESS_READ) as whole:
            _check_parts(whole)
        with zipfile.ZipFile(path) as archive:
            weights = _load_weights(_read_member(archive, "policy.pth", MAX_WEIGHTS))
            about = json.loads(_read_member(archive, "data", MAX_JSON))
            note = json.loads(_read_member(archive, NOTE, MAX_JSON)) if NOTE in archive.namelist() else {}
    except _FAULTS as error:
        reason = " ".join(str(error).split())
        raise BadOption(
            f"{path} was not saved by stable-baselines3: {reason}. Name a file of gymposium sb3 train."
        ) from error
    if not (isinstance(weights, dict) and isinstance(about, dict) and isinstance(note, dict)):
        raise BadOption(f"{path} was not saved by stable-baselines3. Name a file of gymposium sb3 train.")
    try:
        return _build_policy(path, weights, about, note)
    except BadOption:
        raise
    except _FAULTS as error:
        raise BadOption(
            f"{path}: its weights do not belong to an MLP policy ({type(error).__name__}: {error}). Save it again."
        ) from error


def _read_member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return a member of the archive.

    Raises `ValueError` if it is larger than `limit` bytes, whatever size the archive states."""
    with archive.open(name) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"its member {name} is larger than {limit // 2**20} MiB")
    return content


def _check_parts(content: bytes | mmap) -> None:
    """Raise `ValueError` for a zip with more than `MOST_PARTS` members."""
    if next(islice(re.finditer(rb"PK\x01\x02", content), MOST_PARTS, None), None) is not None:
        raise ValueError(f"it has more than {MOST_PARTS:,} members")


def _load_weights(content: bytes) -> Any:
    """Return the weights in a torch file, which is also a zip. Raises `ValueError` if its members are larger than
    `MAX_WEIGHTS` in total, and the errors of `_check_pickle`."""
    _check_parts(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(copied := io.BytesIO(), "w") as copy:
        if sum(member.file_size for member in archive.infolist()) > MAX_WEIGHTS:
            raise ValueError(f"its weights are larger than {MAX_WEIGHTS // 2**20} MiB")
        for name in dict.fromkeys(archive.namelist()):  # torch may find other members in the original
            member = archive.read(name)
            if name.lower().endswith(".pkl"):
                _check_pickle(member)
            copy.writestr(name, member)
    copied.seek(0)
    return torch.load(copied, map_location="cpu", weights_only=True)


def _check_pickle(content: bytes) -> None:
    """Raise `ValueError` for a pickle that could exhaust memory or time: it is large, names globals that tensors do not
    need, or uses a container twice. Hashing nested containers can take exponential time."""
    if len(content) > MAX_PICKLE:
        raise ValueError(f"its tensors are described in more than {MAX_PICKLE // 2**10} KiB")
    texts: set[Any] = set()
    before = ""
    for operation, argument, _ in pickletools.genops(content):
        name = operation.name
        if name == "GLOBAL" and _GLOBALS.fullmatch(str(argument)) is None:
            raise ValueError(f"its weights name {str(argument)[:80]!r}")
        if name in ("DUP", "MEMOIZE") or (name.endswith("GET") and argument not in texts):
            raise ValueError("its weights use a container twice")
        if name.endswith("PUT"):
            (texts.add if before in _TEXTS else texts.discard)(argument)
        before = name


def write_note(path: str | Path, game: Game, **facts: Any) -> None:
    """Add a note with the game and other facts to a zip saved by stable-baselines3."""
    note = {"game": game.name, "game_version": game.spec.version, **facts}
    with zipfile.ZipFile(path, "a") as archive:
        if NOTE in archive.namelist():
            raise BadOption(f"{path} already has a note about its game. Save the model again first.")
        archive.writestr(NOTE, json.dumps(note, indent=2) + "\n")


def _build_policy(
    path: Path, weights: Mapping[str, Tensor], about: Mapping[str, Any], note: Mapping[str, Any]
) -> PolicyFile:
    unknown = [name for name in weights if not name.startswith(_KNOWN)]
    if "action_net.weight" not in weights or unknown:
        what = f" (it holds {unknown[0]})" if unknown else ""
        raise BadOption(
            f"{path} is not a plain MLP policy with discrete actions{what}. Train PPO, MaskablePPO or A2C with "
            f"'MlpPolicy' on a game's tensor:  gymposium sb3 train GAME"
        )
    numbers = sorted(int(name.split(".")[2]) for name in weights if re.fullmatch(rf"{_HIDDEN}\d+\.weight", name))
    layers: list[nn.Module] = []
    for number in numbers:
        layers += [_make_layer(weights, f"{_HIDDEN}{number}"), _find_activation(path, about)()]
    layers.append(_make_layer(weights, "action_net"))
    first, last = layers[0], layers[-1]
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    network = nn.Sequential(*layers).eval().requires_grad_(False)
    network(torch.zeros(1, first.in_features))  # raises if the layers do not fit together
    return PolicyFile(path, network, first.in_features, last.out_features, note)


def _make_layer(weights: Mapping[str, Tensor], name: str) -> nn.Linear:
    weight, bias = (
        _get_tensor(weights, f"{name}.{part}", dimensions) for part, dimensions in (("weight", 2), ("bias", 1))
    )
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.load_state_dict({"weight": weight, "bias": bias})
    return layer


def _get_tensor(weights: Mapping[str, Tensor], name: str, dimensions: int) -> Tensor:
    """Return a dense tensor of finite numbers. Raises `ValueError` for any other tensor or number of dimensions."""
    tensor = weights[name]
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or not tensor.is_contiguous():
        raise ValueError(f"the tensor {name} is not a dense CPU tensor; save the policy again")
    if tensor.dim() != dimensions or not tensor.is_floating_point() or not tensor.isfinite().all():
        raise ValueError(f"{name} must have finite numbers in {dimensions} dimensions")
    return tensor


def _find_activation(path: Path, about: Mapping[str, Any]) -> type[nn.Module]:
    """Return the activation function. stable-baselines3 writes its name beside the pickle; the default is Tanh."""
    written = str((about.get("policy_kwargs") or {}).get("activation_fn", "Tanh"))
    name = written.removesuffix("'>").rpartition(".")[2]
    if name not in _ACTIVATIONS:
        raise BadOption(
            f"{path}: the activation function {written} is not supported. Train with one of {', '.join(_ACTIVATIONS)}."
        )
    return _ACTIVATIONS[name]
