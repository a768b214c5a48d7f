"""Objectives: policy losses and other terms of the loss, as pure functions of tensors.

All tensors are flat: [M], one entry per sampled token of a micro-batch, regardless of rows. `turn` [M] is the turn of
each token. A turn is never split over micro-batches. The loss of a step is the sum of each token's loss times its
weight (`aggregate`). It therefore does not depend on how micro-batches are divided.
"""
