"""The checks, a module for each family. `gymposium.testing.registry` has them in order."""
