"""The learner on several processes, as torchrun starts them: each holds a part of the model."""
