"""What an extra brings is imported only where it is used; where it is missing, the error is the line that installs
it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gymposium.errors import MissingExtra


@contextmanager
def needs_extra(what: str, extra: str, *modules: str) -> Iterator[None]:
    """Inside it, an import that fails for want of one of `modules` is a `MissingExtra`:

    with needs_extra("The viewer", "viewer", "jinja2", "starlette", "uvicorn"):
        from gymposium.viewer.app import make_app
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in modules:
            raise
        raise MissingExtra(f"{what}: the library {error.name}", f'"gymposium[{extra}]"') from error
