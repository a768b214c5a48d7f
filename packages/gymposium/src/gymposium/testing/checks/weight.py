"""Weight: playing a game loads no deep-learning library, and offering one loads no game."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from gymposium.plugins.host import Plugin, host
from gymposium.plugins.specs import GameSpec
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, short

HEAVY = frozenset(
    "accelerate datasets jax peft sentencepiece tensorflow tokenizers torch transformers trl vllm".split()
)

_PROGRAM = """
import json, random, sys
import gymposium
from gymposium.plugins.host import Plugin, host
from gymposium.testing.walk import play_out
file, name = json.loads(sys.argv[1])
if file:
    host().load_file(file)
spec = host().game(name)
module = spec.entry_point.partition(":")[0]
early = module in sys.modules and not file
game = host().make_game(name, {})
play_out(game.new(0), random.Random(0))
print(json.dumps([early and not module.startswith("gymposium."), sorted({m.partition(".")[0] for m in sys.modules})]))
"""


def _games(plugin: Plugin) -> list[GameSpec]:
    return [spec for spec in plugin.specs if isinstance(spec, GameSpec)]


def nothing_heavy_is_imported(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In a fresh process, making the game and playing a match imports none of torch, transformers and the like, and
    the game's module is imported only then."""
    named = spec.name, spec.entry_point  # another host of this process has specs of its own
    owner = next((p for p in host().plugins if named in [(s.name, s.entry_point) for s in _games(p)]), None)
    if owner is None:
        raise NotApplicable("the game is not on offer by a plugin, so a fresh process cannot make it")
    file = owner.source if Path(owner.source).suffix == ".py" and Path(owner.source).is_file() else None
    command = [sys.executable, "-c", _PROGRAM, json.dumps([file, spec.name])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CheckFailed(
            f"in a fresh process it does not play: {short(done.stderr.strip().splitlines()[-1:])}",
            where=spec.name,
            do="run  gymposium play  with it and read the error.",
        )
    early, modules = json.loads(done.stdout.splitlines()[-1])
    if heavy := HEAVY & set(modules):
        raise CheckFailed(
            f"playing it imports {', '.join(sorted(heavy))}.",
            where=spec.name,
            do="import heavy libraries inside the functions that use them, or let another plugin bring them.",
        )
    if early:
        raise CheckFailed(
            f"the module of the game, {spec.entry_point.partition(':')[0]}, is imported before anybody plays it.",
            where=spec.name,
            do="keep the plugin's own module light: every command imports it. The entry point is imported on use.",
        )
