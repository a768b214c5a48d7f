"""Write the lowest versions of other projects that our distributions ask for, as a file of constraints:

    python tests/workspace/lowest.py constraints.txt

`tox run -e lowest` installs with it, and runs tests. uv finds the versions (`--resolution lowest-direct`): what a
distribution names itself is as old as it allows, and what comes along with that is as new as fits.

Plugins whose library is bounded to the tested release from both sides have no lower versions to try. uv also checks
that the newest releases that all distributions allow, these plugins and every extra included, fit in one environment.
`test_versions.py` checks the same of the tested versions.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Collection
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]

APART = {"inspect", "ray", "textarena", "tinker", "trl", "verifiers"}
"""Plugins that are tested in environments of their own, with a library bounded to one minor version."""


def requirements(apart: Collection[str] = ()) -> list[str]:
    """Return what the distributions ask for, with all extras, without each other and the plugins in `apart`."""
    names, wanted = set(), list[Requirement]()
    for path in sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        names.add(canonicalize_name(project["name"]))
        if project["name"].removeprefix("gymposium-") in apart:
            continue
        extras = chain.from_iterable(project.get("optional-dependencies", {}).values())
        wanted += map(Requirement, [*project["dependencies"], *extras])
    return sorted({str(one) for one in wanted if canonicalize_name(one.name) not in names})


def resolve(wanted: list[str], *options: str) -> str:
    """Return the versions that uv finds, as constraints. Raises `CalledProcessError` if the ranges contradict."""
    compiling = ("-m", "uv", "pip", "compile", "--quiet", "--python", sys.executable, "--no-header", *options, "-")
    command = [sys.executable, *compiling]
    return subprocess.run(command, input="\n".join(wanted), text=True, check=True, stdout=subprocess.PIPE).stdout


def main(file: Path) -> None:
    """Check that all distributions fit together, and write the lowest versions."""
    resolve(requirements())
    file.write_text(resolve(requirements(APART), "--resolution", "lowest-direct"), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
