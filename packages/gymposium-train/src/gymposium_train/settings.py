"""The base class of all settings: frozen, typed, and closed to unknown names.

A setting that may be left out has the default None, so that a whole config can be written as TOML, which has no way to
write None.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """One table of a config. The docstring of a field is its documentation in the reference."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)
