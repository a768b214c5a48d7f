"""The commands that gymposium-train adds to the command line."""
