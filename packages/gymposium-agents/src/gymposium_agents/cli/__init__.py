"""The commands that gymposium-agents adds to the command line."""
