"""Check imports: playing a game imports no deep-learning library, and loading its plugin imports no game."""

from __future__ import annotations

import json
import subprocess
from functools import cache, partial
from pathlib import Path

from gymposium.plugins.command_line import format_command_line
from gymposium.plugins.host import host
from gymposium.plugins.plugin import Plugin
from gymposium.plugins.specs import GameSpec
from gymposium.util.child_process import make_python_command, make_python_environment
from gymposium_testing.contract import NORMAL, Effort, NotApplicable, require, shorten

HEAVY = frozenset(
    "accelerate datasets jax peft sentencepiece tensorflow tokenizers torch transformers trl vllm".split()
)
"""Libraries that no game may import."""

_PROGRAM = """
import json, random, sys
import gymposium
from gymposium.plugins.host import host
from gymposium_testing.walk import play_out
file, names, heavy = json.loads(sys.argv[1])
if file:
    host().load_file(file)
modules = {name: host().game(name).entry_point.partition(":")[0] for name in names}
early = {name for name, module in modules.items() if module in sys.modules and not file}
reports = {}
for name, module in modules.items():
    before, error = set(sys.modules), None
    try:
        play_out(host().make_game(name, {}).new(0), random.Random(0))
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    new = {imported.partition(".")[0] for imported in (set(sys.modules) - before if reports else sys.modules)}
    reports[name] = [error, name in early and not module.startswith("gymposium."), sorted(new & set(heavy))]
print(json.dumps(reports))
"""


def _list_games(plugin: Plugin) -> list[GameSpec]:
    return [spec for spec in plugin.specs if isinstance(spec, GameSpec)]


def _report_imports(file: str | None, names: tuple[str, ...]) -> dict[str, tuple[str | None, bool, list[str]]]:
    """Play the games one after another in a fresh process, and report on each.

    A report has the game's error, whether its module was imported early, and the heavy libraries that it was the first
    to import."""
    command = make_python_command("-c", _PROGRAM, json.dumps([file, names, sorted(HEAVY)]))
    done = subprocess.run(command, env=make_python_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        return dict.fromkeys(names, (" ".join(done.stderr.strip().splitlines()[-1:]), False, []))
    reports: dict[str, tuple[str | None, bool, list[str]]] = json.loads(done.stdout.splitlines()[-1])
    return reports


_report_installed_imports = cache(partial(_report_imports, None))
"""Cached reports on installed games. Installed code does not change while a process runs."""


def heavy_imports_are_absent(spec: GameSpec, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Playing a match in a fresh process imports no deep-learning library such as torch.

    The game's module is imported only when the game is made."""
    same = spec.name, spec.entry_point  # equal specs may be different objects in other hosts
    owner = next((p for p in host().plugins if same in [(s.name, s.entry_point) for s in _list_games(p)]), None)
    if owner is None:
        raise NotApplicable("no loaded plugin has the game, so a fresh process cannot make it")
    if Path(owner.source).suffix == ".py" and Path(owner.source).is_file():
        reports = _report_imports(owner.source, (spec.name,))
    else:
        reports = _report_installed_imports(tuple(game.name for game in _list_games(owner)))
    error, early, heavy = reports[spec.name]
    require(
        error is None,
        f"a match cannot be played in a fresh process: {shorten(error)}",
        f"see the error with:  {format_command_line('play', spec.name)}",
        spec.name,
    )
    require(
        not heavy,
        f"playing it imports {', '.join(heavy)}",
        "import heavy libraries inside the functions that use them, or move them to another plugin.",
        spec.name,
    )
    require(
        not early,
        f"the game's module {spec.entry_point.partition(':')[0]} is imported before a match is played",
        "do not import it in the plugin's module, which every command imports. It is imported on first use.",
        spec.name,
    )
