"""What is read of a file that stable-baselines3 saved: weights and plain JSON, nothing else.

Such a zip also holds pickled Python objects, and unpickling runs whatever code they name. `PPO.load` does that, so it
is for your own files. Here they are left alone: the weights are loaded with `weights_only`, and how the layers are put
together is read from the JSON beside them. A file of a stranger can play badly, but it runs nothing.

A note of ours lies in the same zip, as `gymposium.json`: which game it was trained on, and how. Zips without one, saved
by a script of your own, can be played too.
"""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gymposium.errors import BadOption
from gymposium.games.protocol import Game

NOTE = "gymposium.json"
_ACTIVATIONS: dict[str, type[nn.Module]] = {
    kind.__name__: kind for kind in (nn.Tanh, nn.ReLU, nn.ELU, nn.GELU, nn.LeakyReLU, nn.SiLU)
}
_HIDDEN = "mlp_extractor.policy_net."
_KNOWN = ("action_net.", "mlp_extractor.", "value_net.")


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A saved policy: the network from a flat observation to one number for each action."""

    path: Path
    network: nn.Module
    inputs: int
    actions: int
    note: Mapping[str, Any] = field(default_factory=dict)
    """What `write_note` wrote; empty where the file has none."""

    def check_game(self, game: Game) -> None:
        """Raises `BadOption` where this policy was not trained on this game, or cannot have been."""
        tensor_size = 0 if game.tensor_shape is None else int(torch.Size(game.tensor_shape).numel())
        trained_on = self.note.get("game")
        if trained_on is not None and trained_on != game.name:
            raise BadOption(f"sb3:{self.path} was trained on {trained_on}, so it cannot play {game.name}.")
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
    """The policy in a zip that stable-baselines3's PPO, A2C or sb3-contrib's MaskablePPO saved. Raises `BadOption` with
    what is wrong with the file."""
    path = Path(path)
    if not path.is_file():
        raise BadOption(
            f"There is no file {str(path)!r}. Train a policy first:  gymposium sb3 train tic_tac_toe --out {path}"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            weights = torch.load(io.BytesIO(archive.read("policy.pth")), map_location="cpu", weights_only=True)
            about = json.loads(archive.read("data"))
            note = json.loads(archive.read(NOTE)) if NOTE in archive.namelist() else {}
    except (zipfile.BadZipFile, KeyError, ValueError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        reason = " ".join(str(error).split())
        raise BadOption(f"{path} is not a file that stable-baselines3 saved: {reason}") from error
    if not (isinstance(weights, dict) and isinstance(about, dict) and isinstance(note, dict)):
        raise BadOption(f"{path} is not a file that stable-baselines3 saved.")
    return _policy(path, weights, about, note)


def write_note(path: str | Path, game: Game, **facts: Any) -> None:
    """Add to a zip that stable-baselines3 has just saved which game its policy is for, and further facts."""
    note = {"game": game.name, "game_version": game.spec.version, **facts}
    with zipfile.ZipFile(path, "a") as archive:
        if NOTE in archive.namelist():
            raise BadOption(f"{path} has a note of its game already. Save the model anew first.")
        archive.writestr(NOTE, json.dumps(note, indent=2) + "\n")


def _policy(path: Path, weights: Mapping[str, Tensor], about: Mapping[str, Any], note: Mapping[str, Any]) -> PolicyFile:
    strange = [name for name in weights if not name.startswith(_KNOWN)]
    if "action_net.weight" not in weights or strange:
        what = f" (it holds {strange[0]})" if strange else ""
        raise BadOption(
            f"{path} holds no plain MLP policy with discrete actions{what}. Train PPO, MaskablePPO or A2C with "
            f"'MlpPolicy' on a game's tensor:  gymposium sb3 train GAME"
        )
    numbers = sorted(int(name.split(".")[2]) for name in weights if re.fullmatch(rf"{_HIDDEN}\d+\.weight", name))
    layers: list[nn.Module] = []
    for number in numbers:
        layers += [_linear(weights, f"{_HIDDEN}{number}"), _activation(path, about)()]
    layers.append(_linear(weights, "action_net"))
    first = layers[0]
    last = layers[-1]
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    network = nn.Sequential(*layers).eval().requires_grad_(False)
    return PolicyFile(path, network, first.in_features, last.out_features, note)


def _linear(weights: Mapping[str, Tensor], name: str) -> nn.Linear:
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.load_state_dict({"weight": weight, "bias": bias})
    return layer


def _activation(path: Path, about: Mapping[str, Any]) -> type[nn.Module]:
    """The activation function, by the name that stable-baselines3 writes beside what it pickles: Tanh where it was not
    chosen."""
    written = str((about.get("policy_kwargs") or {}).get("activation_fn", "Tanh"))
    name = written.removesuffix("'>").rpartition(".")[2]
    if name not in _ACTIVATIONS:
        raise BadOption(f"{path}: the activation function {written} is not among {', '.join(_ACTIVATIONS)}.")
    return _ACTIVATIONS[name]
