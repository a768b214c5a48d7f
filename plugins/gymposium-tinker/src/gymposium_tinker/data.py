"""Conversion of rows and demonstrations to the service's data: one datum per row, with shifted tokens as targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from tinker.types import Datum, ForwardBackwardOutput, ModelInput, TensorData
from torch import Tensor

from gymposium.errors import GymposiumError
from gymposium.util.visible import quantity
from gymposium_train.learner.protocol import Demonstration, Pair, group_conversations
from gymposium_train.learner.rows import Row, Span, Tokens
from gymposium_train.learner.token_batch import TokenBatch, make_token_batch


def make_datum(ids: Tokens, **inputs: Sequence[float]) -> Datum:
    """Return a row of tokens as a datum. All tokens but the last are inputs, and all but the first are targets. Each
    entry of `inputs` has a number per target."""
    tensors = {
        name: TensorData(data=[*values], dtype="float32", shape=[len(values)]) for name, values in inputs.items()
    }
    targets = TensorData(data=[*ids[1:]], dtype="int64", shape=[len(ids) - 1])
    return Datum(model_input=ModelInput.from_ints([*ids[:-1]]), loss_fn_inputs={"target_tokens": targets, **tensors})


def align_to_targets(row: Row, numbers: Callable[[Span], Sequence[float]]) -> list[float]:
    """Return a number for each target of a row: from `numbers` for sampled tokens, and 0 for all other tokens."""
    values = [0.0] * (len(row.ids) - 1)
    for span in row.spans:
        values[span.start - 1 : span.stop - 1] = numbers(span)
    return values


def make_scoring_datum(ids: Tokens) -> Datum:
    """Return a row with zero weights, for computing log-probabilities."""
    return make_datum(ids, weights=[0.0] * (len(ids) - 1))


def make_imitation_data(demonstrations: Sequence[Demonstration | Pair], weight: float) -> list[Datum]:
    """Return demonstrations as data, one datum per conversation. The weighted log-probabilities add up to `weight`
    times the mean over all completion tokens."""
    found = [Demonstration(*one) for one in demonstrations]
    each = weight / sum(len(one.completion) for one in found)
    data = []
    for conversation in group_conversations(found):
        ids = conversation[-1].prompt + conversation[-1].completion
        weights = [0.0] * (len(ids) - 1)
        for one in conversation:
            start = len(one.prompt) - 1
            weights[start : start + len(one.completion)] = [each] * len(one.completion)
        data.append(make_datum(ids, weights=weights))
    return data


def read_logprobs(output: ForwardBackwardOutput, data: Sequence[Datum]) -> list[Tensor]:
    """Return the log-probability of each target in each datum. Raises `GymposiumError` if their number is wrong."""
    found = [torch.tensor(one["logprobs"].data, dtype=torch.float32) for one in output.loss_fn_outputs]
    targets, returned = [len(one.loss_fn_inputs["target_tokens"].data) for one in data], [len(row) for row in found]
    if returned != targets:
        raise GymposiumError(
            f"The Tinker service returned log-probabilities for {_describe(returned)} instead of {_describe(targets)}."
        )
    return found


def _describe(rows: Sequence[int]) -> str:
    return f"{quantity(len(rows), 'row')} of {quantity(sum(rows), 'token')}"


def gather_sampled(rows: Sequence[Row], scores: Sequence[Tensor]) -> Tensor:
    """Return [M]: the scores of all rows' sampled tokens, in order, given the scores of all targets."""
    return torch.cat(
        [score[span.start - 1 : span.stop - 1] for row, score in zip(rows, scores, strict=True) for span in row.spans]
    )


def flatten_rows(rows: Sequence[Row]) -> TokenBatch:
    """Return the sampled tokens of rows as flat tensors, in the order of `gather_sampled`."""
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + row.sampled)
    return make_token_batch(rows, range(len(rows)), starts[:-1], "cpu")
