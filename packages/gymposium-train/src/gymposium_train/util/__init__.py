"""The base class of all settings, messages of a run, and processes started by torchrun."""
