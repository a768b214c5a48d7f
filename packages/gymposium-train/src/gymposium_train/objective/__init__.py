"""Objectives: numbers and log-probabilities in, a loss for each token out. Pure functions of tensors.

All tensors are flat: [M], one entry for each sampled token of a micro-batch, whatever rows the tokens came in. `turn`
[M] says which turn a token belongs to; a turn is never split over micro-batches. A step's loss is the sum of each
token's loss times its weight (`aggregate`), so the same comes out however the step is cut for memory.
"""
