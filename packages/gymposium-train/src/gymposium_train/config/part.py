"""What all parts of a config have in common: frozen, typed, and closed to names that nobody knows."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """One table of a config. Its fields' docstrings are their documentation."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
