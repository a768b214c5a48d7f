"""Questions in a file: JSONL, or another format that the library `datasets` loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymposium.errors import BadParameter, MissingExtra
from gymposium.tasks.questions import QuestionFile

_LOADERS = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow", ".json": "json"}
"""Loaders of `datasets` by the ending of a file's name; any other file is read as JSONL."""


class DataFile(QuestionFile):
    """Questions in a file of any of these formats."""

    about = ""

    def rows(self) -> Sequence[Any]:
        loader = _LOADERS.get(self.path.suffix)
        if loader is None:
            return super().rows()
        try:
            import datasets  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingExtra(
                f"The library for data sets, which reads {self.path.suffix} files,", '"gymposium-worlds[datasets]"'
            ) from error
        if not self.path.is_file():
            raise FileNotFoundError(2, "No such file")
        try:
            rows = datasets.load_dataset(loader, data_files=str(self.path), split="train")
        except (ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            raise BadParameter(f"file={self.path} cannot be loaded as {loader} ({error}).") from error
        return [{key: value for key, value in row.items() if value is not None} for row in rows]
