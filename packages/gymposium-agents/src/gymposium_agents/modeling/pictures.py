"""Pictures as token ids.

Each part of a picture is a token id above every vocabulary, made from the picture's digest and the part's number. Equal
pictures therefore have equal ids, and different pictures different ids. The pictures are kept in this process by
digest, for the models that read such ids (`gymposium_agents.modeling.sight`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Protocol

from gymposium.errors import GymposiumError

FIRST = 2**52
"""The lowest id of a picture's part."""
MOST_PARTS = 2**12
"""Maximum number of parts of a picture."""
_DIGEST_BITS = 40
_KEPT_BYTES = 2**30
"""Maximum total size of the pictures kept in memory. One drawn from a game has about 10 kB."""


class PictureReader(Protocol):
    """The way in which a vision model turns pictures into tokens."""

    def expand(self, ids: Sequence[int], pictures: Sequence[bytes]) -> tuple[int, ...]:
        """Replace the placeholder of each picture in a prompt by the tokens of the picture, in order. Pictures are PNG
        or JPEG files.

        Raises `GymposiumError` if the prompt does not have one placeholder for each picture."""

    def save(self, directory: Path) -> None:
        """Write the files that `gymposium_agents.modeling.sight.Sight.load` reads to a model's directory."""


class _KeptPictures:
    """The most recently used pictures, by digest."""

    def __init__(self) -> None:
        self._files: OrderedDict[int, bytes] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def keep(self, digest: int, file: bytes) -> None:
        with self._lock:
            self._size += len(file) - len(self._files.get(digest, b""))
            self._files[digest] = file
            self._files.move_to_end(digest)
            while self._size > _KEPT_BYTES and len(self._files) > 1:
                self._size -= len(self._files.popitem(last=False)[1])

    def load(self, digest: int) -> bytes:
        with self._lock:
            file = self._files.get(digest)
            if file is None:
                raise GymposiumError(
                    f"A prompt has a picture that is not in memory. This process keeps the newest "
                    f"{_KEPT_BYTES // 2**20} MiB of pictures. Make the prompt again, or use smaller steps."
                )
            self._files.move_to_end(digest)
            return file


_kept = _KeptPictures()
"""The pictures of this process. Players, engines and learners share them."""


def keep_picture(file: bytes) -> int:
    """Keep a picture, a PNG or JPEG file, for the models of this process. Returns its digest."""
    digest = int.from_bytes(sha256(file).digest()) >> (256 - _DIGEST_BITS)
    _kept.keep(digest, file)
    return digest


def load_picture(digest: int) -> bytes:
    """Return the file of a picture. Raises `GymposiumError` if it is not kept."""
    return _kept.load(digest)


def list_pictures(*sequences: Iterable[int]) -> list[bytes]:
    """Return the files of the different pictures in sequences of ids, in order."""
    digests = (split_part(token)[0] for ids in sequences for token in ids if token >= FIRST)
    return [load_picture(digest) for digest in dict.fromkeys(digests)]


def make_part(digest: int, number: int) -> int:
    """Return the token id of a picture's part."""
    return FIRST + digest * MOST_PARTS + number


def split_part(token: int) -> tuple[int, int]:
    """Return the digest and the number of a picture's part."""
    return divmod(token - FIRST, MOST_PARTS)
