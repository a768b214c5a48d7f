"""Dockerfiles for environment servers, pinned to the locally installed versions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version

from gymposium.errors import BadOption
from gymposium.games.registry import find_spec, is_registered, split_game_name
from gymposium.http.listening import TOKEN
from gymposium.players.grammar import check_player
from gymposium.plugins.host import host
from gymposium.plugins.specs import DISGUISE, Spec

PORT = 8710
_DOCKERFILE = """\
# An environment server of gymposium. Build and run it:
#
#   docker build -t gymposium-env .
#   docker run --read-only --tmpfs /tmp -v matches:/data -e {token} -p 127.0.0.1:{port}:{port} gymposium-env
#
# {token} is a secret that you choose; clients send it. Distributions that are on no index: put their
# wheels into a folder `wheels` beside this file.
FROM python:{python}-slim
COPY Dockerfile* wheels* /wheels/
RUN pip install --no-cache-dir --find-links /wheels {pins} \\
    && useradd --uid 10001 --home-dir /data --create-home gymposium
USER 10001
WORKDIR /data
VOLUME /data
ENV HOME=/data NUMBA_CACHE_DIR=/data/.numba PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
EXPOSE {port}
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \\
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:{port}/health')"]
ENTRYPOINT ["gymposium", "serve-env", "--host", "0.0.0.0", "--port", "{port}"]
CMD {command}
"""


def build_dockerfile(games: Sequence[str], opponents: Sequence[str], on_illegal: str) -> str:
    """Return the Dockerfile for a server with this offer.

    It installs the distributions with the games and opponents, in the locally installed versions.

    Raises `BadOption` for a game or an opponent from a one-file plugin."""
    command = [*games, *(part for name in opponents for part in ("--opponent", name)), "--on-illegal", on_illegal]
    return _DOCKERFILE.format(
        token=TOKEN,
        port=PORT,
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        pins=" ".join(_pin_distributions([*_list_game_specs(games), *(check_player(name)[0] for name in opponents)])),
        command=json.dumps(command),
    )


def _list_game_specs(names: Iterable[str]) -> Iterator[Spec]:
    for name in names:
        base, parameters = split_game_name(name)
        if is_registered(base):
            yield find_spec(base)
        if DISGUISE.name in parameters:
            yield host().disguises[base]


def _pin_distributions(specs: Iterable[Spec]) -> Iterator[str]:
    yield f'"gymposium[serve,worlds]=={version("gymposium")}"'
    for distribution, number in sorted({_find_distribution(spec) for spec in specs}):
        if distribution != "gymposium":
            yield f'"{distribution}=={number}"'


def _find_distribution(spec: Spec) -> tuple[str, str]:
    plugin = host().owner(spec)
    if not plugin.distribution:
        raise BadOption(
            f"{spec.name} comes from {plugin.source}, which is not an installed distribution. Install it first."
        )
    return plugin.distribution, plugin.version
