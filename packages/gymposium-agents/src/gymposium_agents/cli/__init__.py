"""The verbs that gymposium-agents adds to the command line."""
