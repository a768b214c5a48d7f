"""Reading and writing Pydantic models in JSON files."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gymposium.errors import BadRecord
from gymposium.util.plain_file import read_plain_text
from gymposium.util.strict_json import parse_strict_json


class FileModel(BaseModel):
    """Base class of models stored in JSON files.

    Models are frozen, reject unknown keys, and are documented by docstrings."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


_Model = TypeVar("_Model", bound=BaseModel)


def read_model(path: Path, model: type[_Model], what: str, remedy: str) -> _Model:
    """Read a model from a JSON file.

    Raises `BadRecord` if the file cannot be read or is invalid. The error message calls the content `what` and ends
    with `remedy`."""
    try:
        text = read_plain_text(path)
        parse_strict_json(text)
        return model.model_validate_json(text)
    except OSError as error:
        raise BadRecord(f"{path} cannot be read ({error.strerror}). {remedy}") from error
    except ValidationError as error:
        first = error.errors()[0]
        why = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
        raise BadRecord(f"{path} holds no {what}: {why}. {remedy}") from error
    except ValueError as error:  # includes invalid UTF-8
        raise BadRecord(f"{path} holds no {what}: {error}. {remedy}") from error
