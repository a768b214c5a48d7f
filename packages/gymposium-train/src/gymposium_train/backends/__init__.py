"""Backends, which hold the model that learns: on this machine, or elsewhere."""
