"""The checks, a module for each family. `gymposium_testing.registry` has them in order."""
