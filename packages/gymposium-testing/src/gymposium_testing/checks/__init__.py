"""The checks, one module per family. `gymposium_testing.registry` lists them in order."""
