"""A newcomer's first plugins, a game and a world, from the built wheels without a checkout: written by `gymposium
plugins new`, built, installed, tested, checked, played and uninstalled.

`tests/workspace/wheels.py` runs it in the environment where it has installed the wheels. By hand, with any
environment that has gymposium and whose packages may be changed:

    python tests/workspace/newcomer.py PATH/TO/ENVIRONMENT/bin/python
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NAME, PACKAGE = "gymposium-card-swap", "gymposium_card_swap"
WORLD, WORLD_PACKAGE = "gymposium-city-archive", "gymposium_city_archive"
LONG, LONG_WORLD = "a-name-that-is-as-long-as-a-name-may-be0", "a-world-whose-name-is-as-long-as-may-be0"


def main(python: Path) -> None:
    # A folder outside every checkout, and nothing in the environment that leads to one.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GYMPOSIUM"))}
    env = {**kept, "GYMPOSIUM_PLUGINS_STRICT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        # the libraries of all projects are read once
        Stranger(python, Path(folder).resolve(), {**env, "MYPY_CACHE_DIR": cache}).go()
    print("a newcomer's plugins work from their wheels")


class Stranger:
    """Somebody with an environment and an empty folder."""

    def __init__(self, python: Path, folder: Path, env: dict[str, str]) -> None:
        self.python, self.folder, self.env = python, folder, env

    def go(self) -> None:
        self.pip("install", "--upgrade", "pip")  # an old one knows no --group
        for name in (NAME, LONG):
            self.gymposium("plugins", "new", name, "--namespace", "newcomer")
        for name in (WORLD, LONG_WORLD):
            self.gymposium("plugins", "new", name, "--namespace", "newcomer", "--world")
        groups = [part for group in ("test", "lint", "types") for part in ("--group", group)]
        self.pip("install", *groups, cwd=self.folder / NAME)
        for name, package in ((NAME, PACKAGE), (WORLD, WORLD_PACKAGE)):
            self.install_the_wheel(name, package)
            self.run_the_tests(name)
        self.use_the_game()
        self.use_the_world()
        for name in (NAME, LONG, WORLD, LONG_WORLD):
            self.read_the_code(self.folder / name)
        self.pip("uninstall", "--yes", NAME, WORLD)
        assert not {NAME, WORLD} & self.plugins().keys(), "they are still there after they were uninstalled"

    def install_the_wheel(self, name: str, package: str) -> None:
        built = self.folder / "dist" / name
        self.pip("wheel", "--no-deps", "--wheel-dir", built, self.folder / name)
        [wheel] = built.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {package}, names
        assert f"{package}/py.typed" in names
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
        self.pip("install", wheel)

    def run_the_tests(self, name: str) -> None:
        """The tests alone, without the source beside them."""
        alone = self.folder / "alone" / name
        shutil.copytree(self.folder / name / "tests", alone / "tests")
        self.run(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=alone)

    def use_the_game(self) -> None:
        self.check(NAME, "card_swap")
        self.run(self.python, "-c", EPISODE)
        self.gymposium("run", "card_swap", "--players", "card_swap-greedy,mcts-20", "-n", "10", "--out", "run")
        self.verify("run/matches.jsonl")

    def use_the_world(self) -> None:
        self.check(WORLD, "city_archive")
        self.gymposium("run", "city_archive", "--players", "city_archive-expert", "-n", "10", "--out", "tasks")
        self.verify("tasks/matches.jsonl")

    def check(self, name: str, game: str) -> None:
        about = self.plugins()[name]
        assert about["status"] == "active", about
        assert about["adds"]["games"] == [game], about
        self.gymposium("plugins", "check", game, "--quick")

    def verify(self, file: str) -> None:
        verified = json.loads(self.gymposium("verify", file, "--json"))
        assert (verified["files"][0]["matches"], verified["problems"]) == (10, 0), verified

    def read_the_code(self, project: Path) -> None:
        for command in (("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)):
            self.run(self.python, "-m", *command, cwd=project)

    def plugins(self) -> dict[str, dict[str, object]]:
        """Every plugin by its distribution."""
        listed = json.loads(self.gymposium("plugins", "list", "--json"))["plugins"]
        return {plugin["distribution"]: plugin for plugin in listed}

    def gymposium(self, *arguments: str | Path) -> str:
        return self.run(self.python.with_name("gymposium"), *arguments)

    def pip(self, *arguments: str | Path, cwd: Path | None = None) -> None:
        self.run(self.python, "-m", "pip", *arguments[:1], "--quiet", *arguments[1:], cwd=cwd)

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        print("$", *command, flush=True)
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd or self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{done.stdout}\nfailed with {done.returncode}")
        return done.stdout


EPISODE = f"""
import gymnasium, {PACKAGE}
assert "site-packages" in {PACKAGE}.__file__, {PACKAGE}.__file__
env = gymnasium.make("gymposium:newcomer/TextCardSwap-v0", opponent="card_swap-greedy", cards=7)
observation, info = env.reset(seed=1)
assert "the cards 1 to 7" in observation
observation, reward, terminated, truncated, info = env.step("keep")
assert terminated and not truncated and reward in (-1.0, 1.0), (reward, terminated, truncated)
assert info["result"] in ("win", "loss")
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]))
