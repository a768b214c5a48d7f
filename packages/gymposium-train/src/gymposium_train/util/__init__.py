"""The base of all settings, messages of a run, and the processes that torchrun starts."""
