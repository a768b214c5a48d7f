"""Pictures as tokens, for language models that see.

Each part of a picture is a token id above every vocabulary, made from the picture's digest and the part's number. Equal
pictures therefore have equal ids, and different pictures different ids. Prompts remain sequences of ids: prefixes are
shared, and a learner trains on them, as with text. Only the model's token embedding reads pixels (`PictureEmbedding`).
The vision parts of the model are not trained.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoProcessor

from gymposium.errors import GymposiumError, MissingExtra
from gymposium.games.pictures import Picture, draw_note
from gymposium.games.pictures.pixels import can_render_pixels, read_png, render_png
from gymposium.util.visible import quantity
from gymposium_agents.modeling.forward import Tokens
from gymposium_agents.modeling.sources import NO_TRUST, Trust, prepare_reading

if TYPE_CHECKING:
    from PIL.Image import Image

FIRST = 2**52
"""The lowest id of a picture's part."""
_PARTS = 2**12
"""Maximum number of parts of a picture."""
_DIGEST_BITS = 40
_KEPT = 16_384
"""Number of pictures whose pixels are kept in memory, about 25 kB each."""
_FEATURES = 512
"""Number of pictures whose features are kept by a model."""

_pictures: OrderedDict[int, bytes] = OrderedDict()
"""The most recently prompted pictures of this process, by digest. Players and engines share them."""
_lock = Lock()


def _keep_picture(png: bytes) -> int:
    """Keep a picture for engines, and return its digest."""
    digest = int.from_bytes(sha256(png).digest()) >> (256 - _DIGEST_BITS)
    with _lock:
        _pictures[digest] = png
        _pictures.move_to_end(digest)
        while len(_pictures) > _KEPT:
            _pictures.popitem(last=False)
    return digest


def _load_picture(digest: int) -> Image:
    with _lock:
        png = _pictures.get(digest)
    if png is None:
        raise GymposiumError("A prompt has a picture that was not drawn in this process. Make the prompt again.")
    return read_png(png)


class Sight:
    """A vision model's processor: how pictures become tokens and pixels."""

    def __init__(self, processor: Any, token: int, placeholder: str) -> None:
        """`token` is the id that the processor writes for each part of a picture, in place of `placeholder`."""
        self._processor = processor
        self._token = token
        self._placeholder = placeholder
        self._expanded: dict[tuple[int, int], list[int]] = {}

    @classmethod
    def load(cls, name: str | Path, trust: Trust = NO_TRUST) -> Sight:
        """Load the processor of a model. Raises `GymposiumError` if the model does not see, and `MissingExtra` without
        gymposium[images]."""
        if not can_render_pixels():
            raise MissingExtra("A library for pictures", '"gymposium[images]"')
        try:
            arguments = prepare_reading(name, trust)
            token = int(AutoConfig.from_pretrained(name, **arguments).image_token_id)
            processor: Any = AutoProcessor.from_pretrained(name, **arguments)  # type: ignore[no-untyped-call]
            return cls(processor, token, str(processor.image_token))
        except (AttributeError, OSError, TypeError, ValueError) as error:
            raise GymposiumError(
                f"The model {str(name)!r} does not see: it has no image processor. Use prompt=full, or another model."
            ) from error

    def process(self, picture: Image) -> dict[str, Any]:
        """Return the processor's ids and pixels for one picture."""
        return dict(
            self._processor(text=self._placeholder, images=[picture], return_tensors="pt", add_special_tokens=False)
        )

    def expand(self, ids: Sequence[int], pictures: Sequence[bytes]) -> Tokens:
        """Replace the placeholder of each picture in a prompt by the tokens of the picture, in order.

        Raises `GymposiumError` if the chat template did not write one placeholder for each picture."""
        if ids.count(self._token) != len(pictures):
            raise GymposiumError(
                f"The chat template wrote {quantity(ids.count(self._token), 'placeholder')} for "
                f"{quantity(len(pictures), 'picture')}. Use prompt=full, or a model whose template supports images."
            )
        waiting, expanded = iter(pictures), list[int]()
        for token in ids:
            expanded += self._tokens(next(waiting)) if token == self._token else [token]
        return tuple(expanded)

    def _tokens(self, png: bytes) -> list[int]:
        digest = _keep_picture(png)
        picture = _load_picture(digest)
        if picture.size not in self._expanded:
            self._expanded[picture.size] = self.process(picture)["input_ids"][0].tolist()
        around = self._expanded[picture.size]
        parts = iter(range(FIRST + digest * _PARTS, FIRST + (digest + 1) * _PARTS))
        return [next(parts) if token == self._token else token for token in around]

    def attach(self, model: Any) -> None:
        """Let a model's token embedding read pictures. Raises `GymposiumError` if the architecture reads pictures in
        another way than as embeddings of tokens, for example with positions in two dimensions."""
        words = model.get_input_embeddings()
        if type(words) is not nn.Embedding:
            raise GymposiumError(f"{type(model).__name__} scales or shares its token embeddings. Use another model.")
        seeing: Any = words
        seeing.__class__ = PictureEmbedding  # the names of its weights stay the same
        seeing.kept = OrderedDict()
        seeing.read = lambda picture: _compute_features(model, self.process(picture))
        self._check(model)

    @torch.no_grad()
    def _check(self, model: Any) -> None:
        picture = render_png(Picture.from_parts(draw_note("a1 ♞ 7"), told="a test picture"))
        inputs = {name: value.to(model.device) for name, value in self.process(read_png(picture)).items()}
        whole = model(**inputs).logits[0, -1].float()
        ours = model(input_ids=torch.tensor([self._tokens(picture)], device=model.device)).logits[0, -1].float()
        if not (whole - ours).abs().max() <= 1e-2 * whole.abs().max():
            raise GymposiumError(
                f"{type(model).__name__} reads pictures in a way that is not supported. Use an architecture such as "
                f"SmolVLM (Idefics3) or LLaVA."
            )


class PictureEmbedding(nn.Embedding):
    """A model's token embedding that also embeds the parts of pictures."""

    kept: OrderedDict[int, Tensor]
    """The features of the most recently read pictures, by digest."""
    read: Any
    """Computes the features of a picture, [parts, H]."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        seen = input >= FIRST
        if not seen.any():
            return super().forward(input)
        words = super().forward(input.masked_fill(seen, 0))
        parts = torch.stack([self._find(token) for token in (input[seen] - FIRST).tolist()])
        return words.index_put((seen,), parts.to(words))

    def _find(self, number: int) -> Tensor:
        digest, part = divmod(number, _PARTS)
        if digest not in self.kept:
            with torch.inference_mode(mode=False), torch.no_grad():
                self.kept[digest] = self.read(_load_picture(digest))
        self.kept.move_to_end(digest)
        while len(self.kept) > _FEATURES:
            self.kept.popitem(last=False)
        return self.kept[digest][part]


def _compute_features(model: Any, inputs: dict[str, Any]) -> Tensor:
    """Return the features of a picture, [parts, H], in the order of its tokens."""
    others = {k: v.to(model.device) for k, v in inputs.items() if k not in ("input_ids", "attention_mask")}
    others["pixel_values"] = others["pixel_values"].to(model.dtype)
    found = model.get_image_features(**others)
    found = getattr(found, "pooler_output", found)
    return torch.cat([part.flatten(0, -2) for part in found]) if not isinstance(found, Tensor) else found.flatten(0, -2)
