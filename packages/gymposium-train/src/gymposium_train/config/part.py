"""What all parts of a config have in common: frozen, typed, and closed to names that nobody knows.

A setting that may be left out is left out by default: so what a file does not say is the default, and a whole config
can be written as TOML, which has no way to write None.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """One table of a config. Its fields' docstrings are their documentation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)
