"""Learning on several processes that torchrun starts, each with a part of the model."""
