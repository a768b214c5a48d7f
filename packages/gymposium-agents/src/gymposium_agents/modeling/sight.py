"""Sight: the pictures that vision models read.

Only the model's token embedding reads pixels (`PictureEmbedding`). To everything else, pictures are token ids
(`gymposium_agents.modeling.pictures`): prefixes are shared, and a learner trains on them, as with text. The vision
parts of the model are not trained.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    AutoConfig,
    AutoProcessor,
)

from gymposium.errors import GymposiumError, MissingExtra
from gymposium.games.pictures import Picture, draw_note
from gymposium.games.pictures.pixels import can_render_pixels, make_blank, open_picture, render_png
from gymposium.util.visible import quantity
from gymposium_agents.modeling.forward import Tokens
from gymposium_agents.modeling.pictures import FIRST, MOST_PARTS, keep_picture, load_picture, make_part, split_part
from gymposium_agents.modeling.sources import NO_TRUST, Trust, prepare_reading

if TYPE_CHECKING:
    from PIL.Image import Image

_FEATURES = 512
"""Number of pictures whose features are kept by a model."""


def is_vision_model(config: Any) -> bool:
    """Return True if transformers has a model of this architecture only with its vision parts."""
    return type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING and type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING


class Sight:
    """A vision model's processor: how pictures become tokens and pixels (a `PictureReader`)."""

    def __init__(self, processor: Any, token: int, placeholder: str) -> None:
        """`token` is the id that the processor writes for each part of a picture, in place of `placeholder`."""
        self._processor = processor
        self._token = token
        self._placeholder = placeholder
        self._measure = lru_cache(maxsize=2**16)(lambda digest: open_picture(load_picture(digest)).size)
        self._find_layout = lru_cache(maxsize=64)(self._compute_layout)

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
        if ids.count(self._token) != len(pictures):
            raise GymposiumError(
                f"The chat template wrote {quantity(ids.count(self._token), 'placeholder')} for "
                f"{quantity(len(pictures), 'picture')}. Use prompt=full, or a model whose template supports images."
            )
        waiting, expanded = iter(pictures), list[int]()
        for token in ids:
            expanded += self._make_tokens(next(waiting)) if token == self._token else [token]
        return tuple(expanded)

    def save(self, directory: Path) -> None:
        self._processor.save_pretrained(directory)

    def count_kept_features(self) -> int:
        """Return the number of embeddings that a model keeps for pictures drawn from games."""
        return _FEATURES * sum(token >= FIRST for token in self._make_tokens(_draw_test_picture()))

    def _make_tokens(self, file: bytes) -> list[int]:
        digest, parts = keep_picture(file), count()
        layout = self._find_layout(self._measure(digest))
        return [make_part(digest, next(parts)) if token == self._token else token for token in layout]

    def _compute_layout(self, size: tuple[int, int]) -> list[int]:
        """Return the processor's ids for a picture of this size in pixels."""
        ids: list[int] = self.process(make_blank(size))["input_ids"][0].tolist()
        if ids.count(self._token) > MOST_PARTS:
            raise GymposiumError(
                f"A picture of {size[0]} by {size[1]} pixels has {ids.count(self._token)} tokens, but at most "
                f"{MOST_PARTS} are supported. Make it smaller."
            )
        return ids

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
        picture = _draw_test_picture()
        inputs = {name: value.to(model.device) for name, value in self.process(open_picture(picture)).items()}
        whole = model(**inputs).logits[0, -1].float()
        ours = model(input_ids=torch.tensor([self._make_tokens(picture)], device=model.device)).logits[0, -1].float()
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
        places = [split_part(token) for token in input[seen].tolist()]
        features = {digest: self._find(digest) for digest in dict.fromkeys(digest for digest, _ in places)}
        parts = torch.stack([features[digest][part] for digest, part in places])
        return words.index_put((seen,), parts.to(words))

    def _find(self, digest: int) -> Tensor:
        """Return the features of a picture, [parts, H]."""
        file = load_picture(digest)  # even if not read, so that it stays in memory as long as it is used
        features = self.kept.pop(digest, None)
        if features is None:
            with torch.inference_mode(mode=False), torch.no_grad():
                features = self.read(open_picture(file))
        self.kept[digest] = features
        while len(self.kept) > _FEATURES:
            self.kept.popitem(last=False)
        return features


def _draw_test_picture() -> bytes:
    return render_png(Picture.from_parts(draw_note("a1 ♞ 7"), told="a test picture"))


def _compute_features(model: Any, inputs: dict[str, Any]) -> Tensor:
    """Return the features of a picture, [parts, H], in the order of its tokens."""
    others = {k: v.to(model.device) for k, v in inputs.items() if k not in ("input_ids", "attention_mask")}
    others["pixel_values"] = others["pixel_values"].to(model.dtype)
    found = model.get_image_features(**others)
    found = getattr(found, "pooler_output", found)
    return torch.cat([part.flatten(0, -2) for part in found]) if not isinstance(found, Tensor) else found.flatten(0, -2)
