"""Builds every sdist from the tracked files and every wheel from its sdist, checks what each holds and asks for, lets
twine check what the package index would show, and installs the wheels into a clean environment: first that of
gymposium, which is tested without any other wheel and without torch (`core_alone.py`), then the others. At the end a
newcomer writes a first plugin there (`newcomer.py`).

    python tests/workspace/wheels.py SCRATCH_FOLDER

Torch and its company are not installed for this: that the big distributions could be installed is asked
of pip's resolver (`--dry-run`), with ours already in place.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import newcomer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

TORCH = ("torch", "stable-baselines3", "sb3-contrib")
"""What brings torch along."""

SDIST = (".gitignore", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "src")
"""What an sdist holds."""

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main(scratch: Path) -> None:
    clean, dist = scratch / "checkout", scratch / "dist"
    copy_tracked(clean)
    projects = sorted(p.parent for folder in ("packages", "plugins") for p in clean.glob(f"{folder}/*/pyproject.toml"))
    for project in projects:
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, project)
    wheels = {name: wheel for wheel in sorted(dist.glob("*.whl")) for name in [check_contents(wheel)]}
    assert len(wheels) == len(projects), f"{len(projects)} projects, but wheels for {sorted(wheels)}"
    sdists = sorted(dist.glob("*.tar.gz"))
    assert len(sdists) == len(projects), f"{len(projects)} projects, but only {sdists}"
    for sdist in sdists:
        check_sdist(sdist)
    run(sys.executable, "-m", "twine", "check", "--strict", *sdists, *wheels.values())
    ours = {name: metadata(wheel) for name, wheel in wheels.items()}
    for name, about in ours.items():
        check_bounds(name, about, ours)
    python = install(scratch / "venv", dist, ours)
    newcomer.main(python)
    print(f"{len(wheels)} sdists and wheels are as they should be: {', '.join(w.name for w in wheels.values())}")


def run(*command: str | Path, **kwargs: object) -> None:
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **kwargs)  # type: ignore[call-overload]


def copy_tracked(to: Path) -> None:
    """What a clone would hold: the tracked files, as they are now. A file that was never added is missed here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(path).decode())


def check_contents(wheel: Path) -> str:
    """One typed package, the license, and nothing else. Returns the distribution's name."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        licenses = [n for n in names if n.endswith(".dist-info/licenses/LICENSE")]
        assert len(licenses) == 1, f"{wheel.name}: no LICENSE"
        assert "Apache License" in archive.read(licenses[0]).decode(), f"{wheel.name}: another license text"
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert len(tops) == 1, f"{wheel.name}: more than one package: {sorted(tops)}"
    (package,) = tops
    assert f"{package}/py.typed" in names, f"{wheel.name}: no py.typed"
    strays = [n for n in names if "tests/" in n or n.endswith((".pyc", "conftest.py")) or "/test_" in n]
    assert not strays, f"{wheel.name}: holds {strays}"
    return str(canonicalize_name(metadata(wheel)["Name"]))


def check_sdist(sdist: Path) -> None:
    """What a wheel is built from, its license and its readme, and nothing from outside the project."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2].partition("/")[0] for name in archive.getnames()}
    assert names == {*SDIST}, f"{sdist.name}: holds {sorted(names)}"


def check_bounds(name: str, about: Message, ours: dict[str, Message]) -> None:
    """Python ≥ 3.11; siblings by a range that admits their version and no later minor one."""
    assert about["Requires-Python"] == ">=3.11", f"{name}: Requires-Python is {about['Requires-Python']}"
    assert about["License-Expression"] == "Apache-2.0", f"{name}: no SPDX license expression"
    for requirement in map(Requirement, about.get_all("Requires-Dist", [])):
        if (sibling := ours.get(canonicalize_name(requirement.name))) is None:
            continue
        now = Version(sibling["Version"])
        later = f"{now.major}.{now.minor + 1}.0"
        assert requirement.specifier.contains(str(now)), f"{name}: {requirement} refuses {now}"
        assert not requirement.specifier.contains(later), f"{name}: {requirement} admits {later}"
        assert any(s.operator == "~=" for s in requirement.specifier), f"{name}: {requirement} has no lower bound"


def needs(about: Message) -> list[Requirement]:
    """Requirements outside extras."""
    found = map(Requirement, about.get_all("Requires-Dist", []))
    return [r for r in found if r.marker is None or r.marker.evaluate({"extra": ""})]


def wants_torch(name: str, ours: dict[str, Message]) -> bool:
    if name not in ours:
        return name in TORCH
    return any(wants_torch(canonicalize_name(r.name), ours) for r in needs(ours[name]))


def install(where: Path, dist: Path, ours: dict[str, Message]) -> Path:
    """Install gymposium and play with it, then everything that needs no torch; the environment's Python."""
    venv.create(where, with_pip=True)
    python = where / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", next(dist.glob("gymposium-[0-9]*.whl")), "pytest")
    run(python, "-m", "pytest", "--confcutdir", HERE, HERE / "core_alone.py", cwd=ROOT)
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--find-links", dist, *sorted(ours))
    light = [name for name in ours if not wants_torch(name, ours)]
    third = {str(r) for name in light for r in needs(ours[name]) if canonicalize_name(r.name) not in ours}
    run(*pip, "install", "--quiet", *sorted(third))
    report = where / "report.json"
    run(*pip, "install", "--quiet", "--dry-run", "--report", report, *sorted(ours))
    would = {canonicalize_name(item["metadata"]["name"]) for item in json.loads(report.read_text())["install"]}
    assert not would & set(ours), f"the resolver would fetch {would & set(ours)} from elsewhere"
    # Every plugin loads, without torch: hooks only describe, implementations are imported on use.
    run(python, "-I", "-c", LOADS, env={"GYMPOSIUM_PLUGINS_STRICT": "1"}, cwd=where)
    return python


LOADS = """
import sys
from gymposium.plugins.host import host
for plugin in host().plugins:
    assert plugin.status == "active", plugin
    print(f"plugin {plugin.name}: {len(plugin.specs)} specs, {plugin.distribution} {plugin.version}")
assert len(host().plugins) > 1, "no entry point was found"
assert "torch" not in sys.modules
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]))
