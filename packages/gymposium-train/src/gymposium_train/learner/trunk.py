"""A causal language model without its output layer. It computes hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gymposium.errors import GymposiumError
from gymposium_train.config.model import Attention
from gymposium_train.learner.attention import PackedRow, choose_attention, install_attention
from gymposium_train.learner.head import Head

AGREES = 1e-3
"""Maximum relative difference, in units of the largest value, between two ways of computing the same values. In 16
bits, logits may differ by two steps of the number type, and hidden states of packed rows by `AGREES_IN_16_BITS`."""
AGREES_IN_16_BITS = 0.05


@dataclass(slots=True)
class _TrunkOutput:
    """The output of a trunk, with hidden states in place of the logits."""

    logits: Tensor


class Trunk:
    """A model without its head. Call it like the model: `logits` of its output are hidden states [B, K, H]."""

    def __init__(self, model: Any) -> None:
        """`model` is a transformers causal language model, with or without LoRA layers."""
        self._model = model
        self.decoder = model.get_decoder()
        self.config = model.config
        self.attention: Attention = "dense"
        """The kind of attention in packed rows."""

    @property
    def device(self) -> Any:
        return self.decoder.device

    @property
    def dtype(self) -> Any:
        return self.decoder.dtype

    def get_decoder(self) -> Any:
        """Return the decoder, like a model."""
        return self.decoder

    def __call__(self, *, logits_to_keep: Tensor | None = None, **inputs: Any) -> _TrunkOutput:
        states: Tensor = self.decoder(**inputs).last_hidden_state
        return _TrunkOutput(states if logits_to_keep is None else states[:, logits_to_keep])

    def packed(self, ids: Tensor, lengths: Sequence[int]) -> Tensor:
        """Return the hidden states [T, H] of sequences of these lengths, whose T tokens `ids` are in one row."""
        positions = torch.cat([torch.arange(length) for length in lengths])[None].to(ids.device)
        inputs: dict[str, Any] = {"input_ids": ids[None], "position_ids": positions, "use_cache": False}
        if self.attention != "dense":
            row = PackedRow(tuple(lengths), self.attention)
            inputs |= {"attention_mask": row.mask.to(ids.device), "packed": row}
        return self(**inputs).logits[0]

    def pack(
        self,
        wanted: Attention,
        *,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
        check: bool = True,
    ) -> bool:
        """Choose the kind of attention in packed rows: the wanted one, or `dense` if the architecture does not support
        it. Returns True if the model then attends only within a sequence. With `dense`, some models such as OPT also
        attend across sequences. `check=False` assumes that the model does not.

        `device` and `dtype` are those of the model that learns, if this is a copy of it. Raises `BadOption` for
        `varlen` where it is not supported."""
        here: tuple[torch.device, torch.dtype] = self.device, self.dtype
        there = device or here[0], dtype or here[1]
        chosen = choose_attention(self._model, wanted, *there)
        if chosen != "dense":
            install_attention(self._model)
            # a copy elsewhere cannot compute `varlen`, but attends to the same tokens with `blocks`
            self.attention = chosen if (here[0].type, here[1]) == (there[0].type, there[1]) else "blocks"
            if not check or self._separates_sequences():
                self.attention = chosen
                return True
        self.attention = "dense"
        return not check or self._separates_sequences()

    @torch.no_grad()
    def _separates_sequences(self) -> bool:
        """Return True if a sequence has the same hidden states alone as behind any other sequence in its row."""

        def behind(token: int) -> Tensor:
            """Return the hidden states of a sequence that follows eight equal tokens."""
            return self.packed(torch.tensor([*[token] * 8, 0, 1], device=self.device), (8, 2))[8:]

        found = behind(0)
        if not torch.equal(found, behind(1)):  # bitwise, in any number type: masked values have a weight of 0
            return False
        alone = self(input_ids=torch.tensor([[0, 1]], device=self.device), use_cache=False).logits[0]
        agrees = AGREES if alone.dtype == torch.float32 else AGREES_IN_16_BITS
        return bool((found - alone).abs().max() <= agrees * alone.abs().max())


@torch.no_grad()
def check_split(model: Any, trunk: Trunk, head: Head) -> None:
    """Raise `GymposiumError` unless trunk and head together compute the model's logits. Otherwise the architecture has
    another operation between hidden states and logits, and training would use wrong probabilities."""
    ids = torch.arange(2, device=trunk.device)[None]
    whole = model(input_ids=ids).logits[0].float()
    ours = head.logits(trunk(input_ids=ids).logits[0])
    agrees = max(AGREES, 2 * torch.finfo(head.layer.weight.dtype).eps)
    difference = float((whole - ours).abs().max())
    if not difference <= agrees * max(1.0, float(whole.abs().max())):
        raise GymposiumError(
            f"{type(model).__name__} has operations between its hidden states and its output layer: its logits differ "
            f"from ours by up to {difference:.3g}. Training it is not supported. Use another architecture."
        )
