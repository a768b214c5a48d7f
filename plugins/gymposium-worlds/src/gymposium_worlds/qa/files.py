"""Questions in a file: JSONL, or any other file that the library `datasets` loads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from gymposium.errors import BadParameter, MissingExtra
from gymposium.streams import stream
from gymposium.strict_json import strict_json
from gymposium_worlds.qa.question import Question

_LOADERS = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow", ".json": "json"}
"""Loaders of `datasets` by the ending of a file's name; any other file is read as JSONL."""


class QuestionFile:
    """The questions of a file, in its order. The file is read when the first question is drawn."""

    about = ""

    def __init__(self, file: str) -> None:
        self.file = file

    @cached_property
    def questions(self) -> Sequence[Question]:
        """All questions. Raises `BadParameter` for a file that cannot be read, and for the first line that is no
        question with a checkable answer."""
        questions = []
        for number, row in enumerate(self._rows(), start=1):
            if isinstance(row, str) and not row.strip():
                continue
            try:
                questions.append(Question.parse(strict_json(row) if isinstance(row, str) else row))
            except ValueError as error:
                raise BadParameter(f"file={self.file}: line {number} is no question: {error}.") from error
        if not questions:
            raise BadParameter(f"file={self.file}: there are no questions in it.")
        return questions

    def draw(self, seed: int) -> Question:
        """The question of a seed: every question is equally likely."""
        return self.questions[int(stream(seed, "question").random() * len(self.questions))]

    def _rows(self) -> list[Any]:
        path = Path(self.file)
        loader = _LOADERS.get(path.suffix)
        try:
            if loader is None:
                return path.read_text(encoding="utf-8").split("\n")
            return self._loaded(path, loader)
        except (OSError, UnicodeDecodeError) as error:
            raise BadParameter(
                f"file={self.file} cannot be read ({error}). Name a file with a question a line."
            ) from error

    def _loaded(self, path: Path, loader: str) -> list[Any]:
        try:
            import datasets  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingExtra("The library for data sets", '"gymposium-worlds[datasets]"') from error
        if not path.is_file():
            raise FileNotFoundError(2, "No such file")
        try:
            rows = datasets.load_dataset(loader, data_files=str(path), split="train")
        except (ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            raise BadParameter(f"file={self.file} cannot be loaded as {loader} ({error}).") from error
        return [{key: value for key, value in row.items() if value is not None} for row in rows]
