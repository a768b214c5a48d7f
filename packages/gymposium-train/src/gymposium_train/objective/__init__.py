"""Objectives: policy losses and other terms of the loss, as pure functions of tensors.

All tensors are flat: [M], one entry for each sampled token of a micro-batch, without regard to rows. `turn` [M] is the
turn that a token belongs to; a turn is never split over micro-batches. The loss of a step is the sum of each token's
loss times its weight (`aggregate`), so it does not depend on the division into micro-batches.
"""
