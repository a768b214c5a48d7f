"""The Dockerfile of `gymposium serve-env`, built and run: `tox run -e container`.

It needs `buildah` and `podman`, and an image of Python: one that is there, one that can be pulled, or one that
`debootstrap` makes. What is missing stands in the reason why the test was not tried.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("websockets", reason="not tried: websockets is not installed")

from tests.gymposium.http.environments.conftest import Client
from tests.gymposium.http.environments.test_playing import episode_here, episode_there
from websockets.sync.client import connect

from gymposium import load_game
from gymposium.http.environments.dockerfile import PORT, build_dockerfile
from gymposium.http.listening import TOKEN
from gymposium.records import verify_file

ROOT = Path(__file__).parents[2]
PYTHON = f"docker.io/library/python:{sys.version_info.major}.{sys.version_info.minor}-slim"
IMAGE = "localhost/gymposium-env-test"
GAMES = ("tic_tac_toe", "kuhn_poker", "mail")
RUN = ("--read-only", "--tmpfs", "/tmp", "--network", "host", "--no-healthcheck")
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")

if not os.environ.get("GYMPOSIUM_CONTAINER"):
    pytest.skip("not tried: building takes minutes; tox run -e container does it", allow_module_level=True)


def sh(*command: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if check and done.returncode:
        pytest.fail(f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def make_base(folder: Path) -> None:
    """Make sure that there is an image of Python."""
    if not sh("podman", "image", "exists", PYTHON, check=False).returncode:
        return
    if not sh("podman", "pull", PYTHON, check=False).returncode:
        return
    if shutil.which("debootstrap") is None:
        pytest.skip(f"not tried: {PYTHON} cannot be pulled, and debootstrap is not installed")
    root = folder / "root"
    suite = _debian()
    sh("debootstrap", "--variant=minbase", "--include=python3,python3-pip,ca-certificates", suite, root)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not (root / "usr/bin" / version).exists():
        pytest.skip(f"not tried: Debian {suite} has no {version}, for which the wheels are")
    (root / "usr/bin/python").symlink_to("python3")
    (root / f"usr/lib/{version}/EXTERNALLY-MANAGED").unlink(missing_ok=True)
    archive = folder / "root.tar"
    sh("tar", "-C", root, "-cf", archive, ".")
    sh("podman", "import", archive, PYTHON)


def _debian() -> str:
    """The release of Debian that this machine runs, whose Python is most likely that of the tests; else `stable`."""
    try:
        here = platform.freedesktop_os_release()
    except OSError:
        return "stable"
    return here.get("VERSION_CODENAME", "stable") if here["ID"] == "debian" else "stable"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image, built without an index of packages from wheels beside the Dockerfile."""
    for tool in ("buildah", "podman"):
        if shutil.which(tool) is None:
            pytest.skip(f"not tried: {tool} is not installed")
    make_base(tmp_path_factory.mktemp("base"))
    context = tmp_path_factory.mktemp("context")
    wheels, pip = context / "wheels", (sys.executable, "-m", "pip")
    own = [ROOT / "packages/gymposium", ROOT / "plugins/gymposium-worlds"]
    sh(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", wheels, *own)
    sh(*pip, "download", "-d", wheels, "--find-links", wheels, "gymposium[serve,worlds]", "gymposium-worlds")
    (context / "Dockerfile").write_text(build_dockerfile(GAMES, ["random"], "forfeit"), encoding="utf-8")
    no_index = tmp_path_factory.mktemp("pip") / "pip.conf"
    no_index.write_text("[global]\nno-index = true\n", encoding="utf-8")
    chroot = ("--isolation", "chroot", "--format", "docker", "--volume", f"{no_index}:/etc/pip.conf:ro")
    sh("buildah", "bud", *chroot, "-t", IMAGE, context)
    return IMAGE


@pytest.fixture(scope="module")
def podman(image: str) -> Sequence[str]:
    """Podman with a runtime that can run a container here."""
    reasons = []
    for runtime in ((), ("--runtime", "runc")):
        tried = sh("podman", *runtime, "run", "--rm", *RUN, *LIMITS, image, "--help", check=False)
        if not tried.returncode:
            return ("podman", *runtime)
        reasons.append(tried.stderr.strip().splitlines()[-1])
    pytest.skip(f"not tried: no container can be run here ({'; '.join(reasons)})")


@pytest.fixture(scope="module")
def data(podman: Sequence[str], image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the volume of a server that runs."""
    folder, name = tmp_path_factory.mktemp("data"), "gymposium-env-test"
    run = [*podman, "run", "--rm", "--name", name, *RUN, *LIMITS, "-e", TOKEN, "-v", f"{folder}:/data:U", image]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True, env={**os.environ, TOKEN: "s3cret"}) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith("http://")  # it listens
            yield folder
        finally:
            sh(*podman, "stop", "-t", "3", name, check=False)


def test_container_is_unprivileged_and_writes_only_its_volume(podman: Sequence[str], data: Path) -> None:
    inside = (*podman, "exec", "gymposium-env-test")
    assert sh(*inside, "id", "-u").stdout.strip() == "10001"
    assert "Read-only file system" in sh(*inside, "touch", "/usr/local/x", check=False).stderr
    sh(*inside, "touch", "/data/x")
    assert (data / "x").exists()


def test_health_check_passes(podman: Sequence[str], data: Path) -> None:
    _, command = build_dockerfile(GAMES, ["random"], "forfeit").split("    CMD [", 1)
    check = command.split("]\n", 1)[0]
    sh(*podman, "exec", "gymposium-env-test", *[part.strip(' "') for part in check.split('", "')])


@pytest.mark.parametrize("game", GAMES)
def test_container_plays_as_locally(game: str, data: Path) -> None:
    seats = load_game(game).seats
    headers = {"Authorization": "Bearer s3cret"}
    with connect(f"ws://127.0.0.1:{PORT}/ws", additional_headers=headers) as socket:
        client = Client(socket)
        for seed in range(100):
            seat = seed % seats
            assert episode_here(game, seed, seat=seat) == episode_there(client, game, seed, seat=seat)


def test_container_requires_a_token(podman: Sequence[str], image: str) -> None:
    done = sh(*podman, "run", "--rm", *RUN, *LIMITS, image, check=False)
    assert done.returncode == 2
    assert "needs a token" in done.stderr


def test_container_records_verify(data: Path) -> None:
    [file] = data.glob("gymposium-runs/*/matches.jsonl")
    verified = verify_file(file)
    assert verified.matches >= 100
    assert verified.problems == []
