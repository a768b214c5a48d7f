"""A stranger's first plugin, with the built wheels and no checkout: written by `gymposium plugins new`, built,
installed, tested, checked, played and taken away again.

`tests/workspace/wheels.py` runs it in the environment where it has installed the wheels. By hand, with any
environment that has gymposium and whose packages may be changed:

    python tests/workspace/stranger.py PATH/TO/ENVIRONMENT/bin/python
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
LONG = "a-name-that-is-as-long-as-a-name-may-be0"


def main(python: Path) -> None:
    # A folder outside every checkout, and nothing in the environment that leads to one.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GYMPOSIUM"))}
    env = {**kept, "GYMPOSIUM_PLUGINS_STRICT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        Stranger(python, Path(folder).resolve(), env).go()
    print("a stranger's plugin works from its wheel")


class Stranger:
    """Somebody with an environment and an empty folder."""

    def __init__(self, python: Path, folder: Path, env: dict[str, str]) -> None:
        self.python, self.folder, self.env = python, folder, env
        self.project = folder / NAME

    def go(self) -> None:
        self.pip("install", "--upgrade", "pip")  # an old one knows no --group
        for name in (NAME, LONG):
            self.gymposium("plugins", "new", name, "--namespace", "stranger")
        self.pip("install", "--group", "test", "--group", "lint", "--group", "types", cwd=self.project)
        self.install_the_wheel()
        self.run_the_tests()
        self.use_it()
        for project in (self.project, self.folder / LONG):
            self.read_the_code(project)
        self.pip("uninstall", "--yes", NAME)
        assert NAME not in self.plugins(), "it is still there after it was uninstalled"

    def install_the_wheel(self) -> None:
        self.pip("wheel", "--no-deps", "--wheel-dir", self.folder / "dist", self.project)
        [wheel] = (self.folder / "dist").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {PACKAGE}, names
        assert f"{PACKAGE}/py.typed" in names
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
        self.pip("install", wheel)

    def run_the_tests(self) -> None:
        """The tests alone, without the source beside them."""
        alone = self.folder / "alone"
        shutil.copytree(self.project / "tests", alone / "tests")
        self.run(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=alone)

    def use_it(self) -> None:
        about = self.plugins()[NAME]
        assert about["status"] == "active", about
        assert about["adds"]["games"] == ["card_swap"], about
        self.gymposium("plugins", "check", "card_swap")
        self.run(self.python, "-c", EPISODE)
        self.gymposium("run", "card_swap", "--players", "card_swap-greedy,mcts-20", "-n", "10", "--out", "run")
        verified = json.loads(self.gymposium("verify", "run/matches.jsonl", "--json"))
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
env = gymnasium.make("gymposium:stranger/TextCardSwap-v0", opponent="card_swap-greedy", cards=7)
observation, info = env.reset(seed=1)
assert "the cards 1 to 7" in observation
observation, reward, terminated, truncated, info = env.step("keep")
assert terminated and not truncated and reward in (-1.0, 1.0), (reward, terminated, truncated)
assert info["result"] in ("win", "loss")
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]))
