"""The base class of all settings. They are frozen and typed, and unknown names are rejected.

Optional settings default to None, so that a config can be written as TOML, which has no None.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A table of a config. The docstring of each field is its description in the reference."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)
