"""Learning in several processes started by torchrun, each with a part of the model."""
