"""Backends, which hold the learner's model on this machine or elsewhere."""
