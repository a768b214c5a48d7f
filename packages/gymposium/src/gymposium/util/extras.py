"""Imports of optional libraries. The error says which extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gymposium.errors import MissingExtra


@contextmanager
def require_extra(what: str, install: str, *modules: str) -> Iterator[None]:
    """Raise `MissingExtra` if an import in the block fails because one of `modules` is not installed::

    with require_extra("gymposium serve-env", "gymposium[serve]", "anyio", "starlette", "uvicorn"):
        from gymposium.http.environments.server import build_environments_app
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in modules:
            raise
        raise MissingExtra(f"{what}: the library {error.name}", f'"{install}"') from error
