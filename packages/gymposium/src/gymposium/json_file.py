"""Pydantic models in JSON files."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gymposium.errors import BadRecord


class FileModel(BaseModel):
    """Base class of models that are stored in JSON files: frozen, without unknown keys, described by docstrings."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


_Model = TypeVar("_Model", bound=BaseModel)


def read_model(path: Path, model: type[_Model], what: str, remedy: str) -> _Model:
    """Read a JSON file. Raises `BadRecord` if it cannot be read or does not hold the model; the message calls the
    content `what` and ends with `remedy`."""
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise BadRecord(f"{path} is not a plain file. {remedy}")
    try:
        return model.model_validate_json(path.read_bytes().removeprefix(BOM_UTF8))
    except OSError as error:
        raise BadRecord(f"{path} cannot be read ({error.strerror}). {remedy}") from error
    except ValidationError as error:
        first = error.errors()[0]
        why = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
        raise BadRecord(f"{path} holds no {what}: {why}. {remedy}") from error
