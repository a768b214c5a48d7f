"""The learner on several processes that torchrun starts: each process holds a part of the model."""
