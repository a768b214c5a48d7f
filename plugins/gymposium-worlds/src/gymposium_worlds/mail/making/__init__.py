"""The generator: a mailbox from a seed, and questions about it."""
