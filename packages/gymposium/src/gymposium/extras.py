"""Importing the libraries of an extra where they are used, with an error that says how to install the extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gymposium.errors import MissingExtra


@contextmanager
def needs_extra(what: str, extra: str, *modules: str) -> Iterator[None]:
    """In the block, an import that fails because one of `modules` is not installed raises `MissingExtra`:

    with needs_extra("The viewer", "viewer", "jinja2", "starlette", "uvicorn"):
        from gymposium.viewer.app import make_app
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in modules:
            raise
        raise MissingExtra(f"{what}: the library {error.name}", f'"gymposium[{extra}]"') from error
