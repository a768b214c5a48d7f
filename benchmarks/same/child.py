"""Trains some cases in this process, with the code of one checkout, and prints a line of JSON for each finished case.

It runs as a script, by itself or under torchrun, with PYTHONPATH set to the checkout's source folders. It imports
nothing of `benchmarks`, and exits with an error if any module or entry point of gymposium comes from another place than
the checkout.
"""

from __future__ import annotations

import json
import os
import sys
import time
import tomllib
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

INSTALL = "Install the checkout once (pip install -e on its packages and plugins), then compare again."


def check_entry_points(checkout: Path) -> None:
    """Exit unless the installed metadata names exactly the entry points of the checkout, all with code in it. A plugin
    that is not installed is left out."""
    for file in sorted([*checkout.glob("packages/*/pyproject.toml"), *checkout.glob("plugins/*/pyproject.toml")]):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        declared = {
            (group, name, value)
            for group, points in {
                **project.get("entry-points", {}),
                "console_scripts": project.get("scripts", {}),
            }.items()
            for name, value in points.items()
        }
        try:
            installed = {(point.group, point.name, point.value) for point in distribution(project["name"]).entry_points}
        except PackageNotFoundError:
            if file.is_relative_to(checkout / "plugins"):
                continue  # it takes part on neither side
            sys.exit(f"{project['name']} of {checkout} is not installed here. {INSTALL}")
        if declared != installed:
            sys.exit(f"{project['name']} is installed with other entry points than {file} declares. {INSTALL}")
    for point in entry_points(group="gymposium"):
        spec = find_spec(point.module)
        if spec is None or not _is_inside(spec.origin, checkout):
            sys.exit(f"The plugin {point.name} comes from {spec and spec.origin}, which is not in {checkout}.")


def check_modules(checkout: Path) -> None:
    """Exit if a module of gymposium was loaded from outside the checkout."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith("gymposium") and not _is_inside(_file(module), checkout):
            sys.exit(f"The module {name} was loaded from {_file(module)}, which is not in {checkout}.")


def _file(module: ModuleType) -> str | None:
    return getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)


def _is_inside(file: str | None, folder: Path) -> bool:
    return file is not None and Path(file).resolve().is_relative_to(folder)


def train(command: EntryPoint, config: Path, run: Path) -> str:
    """Run `gymposium train` on a config file. Returns why it failed, or an empty text."""
    sys.argv = ["gymposium", "train", str(config), "--out", str(run)]
    try:
        command.load()()
    except SystemExit as stop:
        # 3: the run is complete and learned nothing, as three steps mostly do
        return "" if stop.code in (None, 0, 3) else f"gymposium train ended with {stop.code}"
    return ""


def main() -> None:
    """Train each case of `configs` into a folder of the same name in `runs`."""
    checkout, runs, *configs = map(Path, sys.argv[1:])
    with os.fdopen(os.dup(1), "w") as report:
        os.dup2(2, 1)  # what the command prints goes to the log
        check_entry_points(checkout)
        [command] = entry_points(group="console_scripts", name="gymposium")
        for config in configs:
            began = time.process_time()
            failure = train(command, config, runs / config.stem)
            check_modules(checkout)
            if os.environ.get("RANK", "0") == "0":
                seconds = round(time.process_time() - began, 2)
                print(
                    json.dumps({"case": config.stem, "failure": failure, "cpu_seconds": seconds}),
                    file=report,
                    flush=True,
                )


if __name__ == "__main__":
    main()
